/** Folders whose content belongs to tools: repositories, state of this project, and what was installed. */
const FOLDERS = new Set(['.git', '.hg', '.svn', '.vox', '.ssh', '.gnupg', '.aws'])

const SECRETS = [
  /^\.env(?:\.|$)/,
  /^\.?(?:npmrc|netrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)$/,
  /^(?:credentials|secrets?)(?:\.|$)/,
  /\.local\.toml$/
]
/** Names of example files that are meant to be filled in. */
const TEMPLATES = /\.(?:example|sample|template|dist)$/

/** Why a path of the project, relative with forward slashes, is neither shown to a model nor written by one; null where it may be. */
export function protection(path: string): string | null {
  const parts = path.toLowerCase().split('/')
  const folder = parts.find(part => FOLDERS.has(part))
  if (folder !== undefined) return `${folder} is kept from models`
  const name = parts.at(-1) ?? ''
  if (SECRETS.some(pattern => pattern.test(name)) && !TEMPLATES.test(name)) return 'files of that name hold secrets'
  return null
}
