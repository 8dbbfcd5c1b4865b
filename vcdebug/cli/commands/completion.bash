_vcdebug() {
  local word="${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="%(commands)s"
  else
    case "${COMP_WORDS[1]}" in
%(cases)s
    esac
  fi
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    --release) words="%(releases)s" ;;
    --context) words="$(kubectl config get-contexts -o name 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $([[ "$COMP_CWORD" -eq 1 || "$word" == -* ]] || compgen -f -- "$word"))
}
complete -o filenames -o default -F _vcdebug vcdebug kubectl-vcdebug
