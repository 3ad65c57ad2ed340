# Clusters as Terraform configuration from a state, for the examples: formatted as terraform fmt would, and where the provider can be had
# also valid to it. A mirror of providers is named by TF_PLUGIN_DIR.
source test/interop/lib.sh
need terraform

mirror=${TF_PLUGIN_DIR:+-plugin-dir=$TF_PLUGIN_DIR}

valid=0
for example in examples/clusters/*.yaml; do
  "$OPERATOR" replace -f "$example" --state "$WORK/state" >/dev/null
  for name in $(awk '/^kind: /{kind=$2} /^  name: /&&kind=="Cluster"{print $2; kind=""}' "$example"); do
    for layout in cluster stack; do
      dir="$WORK/clusters/$name-$layout"
      "$OPERATOR" update cluster "$name" --state "$WORK/state" --target terraform --out "$dir" --layout "$layout" >/dev/null
      terraform -chdir="$dir" fmt -check -no-color >/dev/null || { echo "FAILED $example: terraform fmt would change $name"; exit 1; }
      # Each has the same requirements: what was installed for the first does for all.
      [[ $valid -eq 0 ]] || cp -r "$first/.terraform" "$first/.terraform.lock.hcl" "$dir/"
      if [[ $valid -eq 0 ]] && ! said=$(terraform -chdir="$dir" init -input=false -no-color $mirror 2>&1); then
        grep -Eq 'could not connect|no such host|provider registry|timeout' <<<"$said" || { echo "$said"; exit 1; }
        echo "ok     terraform fmt has nothing to change in the configurations"
        echo "formatted as terraform fmt would; whether they are valid is not known, as the hashicorp/aws provider cannot be downloaded here"
        exit 75
      fi
      [[ $valid -gt 0 ]] || first=$dir
      terraform -chdir="$dir" validate -no-color >"$WORK/said" 2>&1 || { cat "$WORK/said"; exit 1; }
      valid=$((valid + 1))
    done
  done
done
echo "ok     terraform fmt and terraform validate have nothing to say about $valid configurations of clusters"
