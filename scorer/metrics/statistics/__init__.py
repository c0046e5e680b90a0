"""Statistics on numbers, whatever they measure.

subsampling: equally large random samples of several sets
mann_whitney, sign_test: rank-sum test of two samples; sign test on pairs
class_separation: AUC, Cohen's d and confusion of memorising and legitimate entries
threshold_selection: methods that choose tau
correlation: Pearson, Spearman, ranks, quantiles
rater_agreement: Cohen's kappa, Krippendorff's alpha
"""
