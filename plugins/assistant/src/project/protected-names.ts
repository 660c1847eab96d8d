/** Folders of tools: repositories, state of this project, and installed packages. */
const FOLDERS = new Set(['.git', '.hg', '.svn', '.vox', '.ssh', '.gnupg', '.aws'])

const SECRETS = [
  /^\.env(?:\.|$)/,
  /^\.?(?:npmrc|netrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)$/,
  /^(?:credentials|secrets?)(?:\.|$)/,
  /\.local\.toml$/
]
/** Names of example files without secrets. */
const TEMPLATES = /\.(?:example|sample|template|dist)$/

/**
 * Reason why a project path (relative, with forward slashes) must not be shown to or written by a model; null if
 * allowed.
 */
export function protection(path: string): string | null {
  const parts = path.toLowerCase().split('/')
  const folder = parts.find(part => FOLDERS.has(part))
  if (folder !== undefined) return `${folder} is hidden from models`
  const name = parts.at(-1) ?? ''
  if (SECRETS.some(pattern => pattern.test(name)) && !TEMPLATES.test(name)) return 'files of that name hold secrets'
  return null
}
