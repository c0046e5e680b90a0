"""Pure metrics: no torch, no SQL, no files. Modules only write ``import scipy``, which loads its subpackages on first
use: ``scipy.stats`` takes 1 s and 60 MB, and the web process imports these modules for their constants.
"""
