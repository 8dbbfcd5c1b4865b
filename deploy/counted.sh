#!/bin/sh
# counted.sh NUMBER COMMAND...: runs pip and says on the terminal how many of about so many packages it has looked at.
# Where nobody watches, and on a failure, what pip says is passed on as it is.
all=$1
shift
[ -t 2 ] || exec "$@" --quiet >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
	"$@" 2>&1
	echo "ended: $?"
} | {
	count=0
	seen=' '
	while IFS= read -r line; do
		case $line in
		'ended: '*) code=${line#ended: } ;;
		'Installing collected packages: '*) printf '\r\033[Kwriting them to .venv: half a minute' >&2 ;;
		'Collecting '* | 'Requirement already satisfied: '*)
			name=${line#Requirement already satisfied: }
			name=${name#Collecting }
			name=${name%%[!A-Za-z0-9._-]*}
			case $seen in
			*" $name "*) ;;
			*)
				seen="$seen$name "
				count=$((count + 1))
				[ "$count" -le "$all" ] || all=$count
				printf '\r\033[Kinstalling %s of %s: %s' "$count" "$all" "$name" >&2
				;;
			esac
			;;
		esac
		printf '%s\n' "$line" >>"$log"
	done
	printf '\r\033[K' >&2
	[ "${code:-1}" -eq 0 ] || cat "$log" >&2
	exit "${code:-1}"
}
