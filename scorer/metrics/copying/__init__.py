"""Tests for copying: are generated images copies of training images, or of each other?

cells: a partition of feature space by k-means over training features
data_copying: the data-copying test of Meehan et al. 2020, Z_U and C_T
ndb: the number of statistically different bins, and of over- and under-represented cells
partial_copying: how many images are closer to training images than held-out images are
near_duplicates, thumbnails: near duplicates of training images, by features and at 8 x 8 pixels
near_hashes: near duplicates of training images by perceptual hashes
relative_distances: the distance to the nearest training image relative to those of the 50 nearest
membership_inference: whether the entry's images tell which images the generator was trained on
perceptual_hashes: 256 bits an image, and how many of them differ
shared_images: images that an entry shares with others
internal_duplicates: near duplicates within one submission
authenticity: the share of authentic images (Alaa et al. 2022)
latent_recovery: the test on recovery errors of a generator (Webster et al. 2019)
near_targets: the images near to an entry that it compares, chosen without bias
recovery_power: the share of remembered training images from which it finds them
error_histogram: its errors, by kind of target
recovery_search: what its search finds from one start, from several, and from any
generator_match: whether a generator is that of an entry
"""
