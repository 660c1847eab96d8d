// Values that are not watched, and places where a secret belongs, each with its reason.

/** Values that are so common that a match means nothing. */
const COMMON = [
  // One character, repeated: an invalid token of a test, and padding of another.
  /^(.)\1*$/s,
  // Secrets of tests that are also a word in a table of the vault, and a part of a test's name and thus of its folder.
  /^(?:canonical|the-token)$/,
  // A part of the alphabet.
  /^abcdefgh$/,
  // Words of JavaScript that property tests generate.
  /^(?:constructor|arguments|prototype|__proto__|toString|toLocaleString|valueOf|hasOwnProperty|isPrototypeOf)$/
]

/** Places where secrets belong. A rule applies if all its parts match. */
export const ALLOWED = [
  {
    sink: 'file',
    place: /\.vox\/keyring\/[^/]+\/[^/]+\.secret(?:\.\d+\.[0-9a-f]+)?$/,
    reason: 'private files that replace the keyring on a machine without one'
  },
  {
    sink: 'file',
    place: /(?:^|\/)\.vox\/daemon\.json$/,
    secret: /^random bytes of /,
    reason: 'the private file from which clients of the same user read the token of the daemon'
  },
  {
    sink: 'file',
    place: /(?:^|\/)\.vox\/config-history\/\d+\.json$/,
    reason: 'earlier texts of svc.toml, in private files, with the literal secrets that the user wrote there'
  },
  {
    sink: 'file',
    place: /(?:^|\/)store\.db(?:-wal)?$/,
    context: /"credentials":"<secret>/,
    reason: 'credentials that a client of A2A sets for its push address, which the server must send with each message'
  },
  {
    sink: 'masked text',
    file: /^kernel\/test\/core\//,
    secret: /^a setting or an input$/,
    context: /^<secret>\d*$/,
    reason: 'the test of the mask: more inputs than it remembers'
  },
  {
    sink: 'operation',
    place: /^needy\.who$/,
    reason: 'an operation of a test, which returns the setting of its plugin'
  },
  {
    sink: 'response',
    place: /^POST \/ui\/api\/session$/,
    context: /set-cookie: svc_ui_[0-9a-f]+=(?:[0-9a-f]+\.)?<secret>|\{"token":"<secret>/,
    reason: 'the cookie and the token of a console session are returned at the sign-in'
  },
  {
    sink: 'output',
    place: /^stdout$/,
    file: /^test\/e2e\/console\/command\.test\.ts$/,
    context: /\/#code=[0-9a-f]+\.<secret>/,
    reason: 'the one-time code of svc dashboard, for the person who started it'
  },
  {
    sink: 'response',
    place: /^(?:POST|GET) \/v1\/(?:responses|messages)/,
    context: /"(?:id|previous_response_id)":"(?:resp|msg)_<secret>/,
    reason: 'the id of a response, for the caller to whom it belongs'
  },
  {
    sink: 'file',
    place: /(?:^|\/)svc\.db(?:-wal)?$/,
    file: /^plugins\/model-server\/test\//,
    context: /resp_<secret>/,
    reason: 'the ids of stored responses in the database'
  },
  {
    sink: 'file',
    place: /(?:^|\/)\.vault-token$/,
    file: /^plugins\/secrets-vault\/test\/openbao\.test\.ts$/,
    reason: 'the file of the program bao, which a test fills'
  },
  {
    sink: 'file',
    place: /(?:^|\/)call$/,
    file: /^plugins\/secrets-(?:vault|infisical)\/test\//,
    context: /(?:VAULT|BAO|INFISICAL)_TOKEN=<secret>/,
    reason: 'the environment of the program of the vendor, which a program of the test writes to a file'
  },
  {
    sink: 'file',
    place: /(?:^|\/)plugins\/mesh\/membership\.json(?:\.\d+\.[0-9a-f]+)?$/,
    reason: 'the private file of a member, with its token of the mesh'
  },
  {
    sink: 'operation',
    place: /^mesh\.pair$/,
    context: /^\{"bootstrap_token":"<secret>/,
    reason: 'the one-time token for a new member, for the administrator who requested it'
  },
  {
    sink: 'response',
    place: /^POST \/v1\/mesh\/x\/pair$/,
    context: /\{"bootstrap_token":"<secret>/,
    reason: 'the one-time token for a new member, for the administrator who requested it'
  },
  {
    sink: 'response',
    place: /^POST \/v1\/mesh\/bootstrap\/exchange$/,
    context: /\{"mesh_token":"<secret>/,
    reason: 'the token of the mesh, for a member that presented a one-time token'
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
