"""Distances between generated and real features, and other measures of sample quality.

frechet, frechet_standard_error: FID, and its standard error over the choice of generated images
fid_infinity: FID extrapolated to infinitely many images
frechet_parts: FID of many parts of one set of images
kernel_sums: sums of a kernel over all pairs of rows, in tiles
kid, cmmd, relative_mmd: kernel distances: KID and MMD^2; CMMD; the three-sample test
likelihood_divergence: FLD and its gap between held-out and training images
diversity: the Vendi score and RKE
prdc, prd: precision, recall, density and coverage; precision and recall as a curve
two_sample: the 1-nearest-neighbour two-sample test
inception_score: the Inception score
"""
