"""What ``kennel start`` writes beside a competition's data. Nothing here is imported by the client.

baseline: a mixture of normal distributions or a tiny GAN, trained on a zip of images; it writes an entry. Runs on its
own, with numpy and Pillow, the GAN with torch.
"""
