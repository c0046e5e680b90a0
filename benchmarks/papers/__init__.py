"""Reproductions: figures and tables of papers, computed with Kennel's own code.

moons: kernel densities on two moons, tested for data-copying (Meehan et al. 2020)
copying_moons: the command that draws their figure
picked_images: how far picking images lowers FID and MiFID
interval_coverage: how often the 95 % intervals of the evidence hold, by simulation
recovery_networks: GLO and DCGAN generators, small and seeded
recovery_search: batched L-BFGS against torch's
recovery_experiment: the command that trains generators and audits them (Webster et al. 2019)
recovery_table: RECOVERY.md from its results
"""
