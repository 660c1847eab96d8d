// Values that are not watched, and places where a secret belongs, each with its reason.

/** Values that are so common that a match means nothing. */
const COMMON = []

/** Places where secrets belong. A rule applies if all its parts match. */
export const ALLOWED = [
  {
    sink: 'file',
    place: /\.vox\/keyring\/[^/]+\/[^/]+\.secret(?:\.\d+\.[0-9a-f]+)?$/,
    reason: 'private files that replace the keyring on a machine without one'
  },
  {
    sink: 'operation',
    place: /^secrets\.delegate$/,
    reason: 'the token of a delegation is returned once, to the caller who requested it'
  },
  {
    sink: 'operation',
    place: /^secrets\.delegated\.read$/,
    reason: 'the value for the holder of a delegation'
  }
]

export function isCommon(value) {
  return COMMON.some(pattern => pattern.test(value))
}

/** Returns the reason why a finding is no leak, or undefined. */
export function ruleFor({ sink, place, file, names, context }) {
  return ALLOWED.find(
    rule =>
      rule.sink === sink &&
      (rule.place === undefined || rule.place.test(place)) &&
      (rule.file === undefined || rule.file.test(file)) &&
      (rule.secret === undefined || names.some(name => rule.secret.test(name))) &&
      (rule.context === undefined || rule.context.test(context))
  )?.reason
}
