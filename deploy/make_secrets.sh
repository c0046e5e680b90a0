#!/bin/sh
# Creates the missing secrets of docker-compose.yml in ./secrets (or in the given folder).
# Only the folder's owner can enter it. The files themselves are readable, because containers run as other users, and
# the owner can write to them.
set -eu
folder=${1:-secrets}
umask 077
mkdir -p "$folder"
# objects_secret is only for creating the bucket; each service has its own key of the object store.
objects="objects_secret"
for service in api check draw sweep cpu gpu backup; do objects="$objects objects_secret_$service"; done
for name in database_password database_owner_password redis_password draw_key $objects; do
    if [ ! -s "$folder/$name" ]; then
        head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$folder/$name.new"
        mv "$folder/$name.new" "$folder/$name"
        echo "Created $folder/$name."
    fi
done
for name in smtp_url oidc_client_secret metrics_token; do
    if [ ! -e "$folder/$name" ]; then
        : > "$folder/$name"
        echo "$folder/$name is empty. If you use a mail server, an OpenID Connect issuer or Prometheus, write its secret there."
    fi
done
chmod 700 "$folder"
chmod 644 "$folder"/*
