/** Reference to a secret in a backend, written `secret://BACKEND/NAME` in the configuration. */
export interface SecretReference {
  readonly backend: string
  readonly name: string
}

/** Parses a reference. Returns null for other strings, including one without a name such as `secret://env`. */
export function parseSecretReference(text: string): SecretReference | null {
  const match = /^secret:\/\/([a-z][a-z0-9_-]*)\/(.+)$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? null : { backend: match[1], name: match[2] }
}
