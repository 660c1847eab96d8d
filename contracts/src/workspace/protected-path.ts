/** Names of folders that are hidden from models: repositories, state of this project, and keys. */
const FOLDERS = new Set(['.git', '.hg', '.svn', '.vox', '.ssh', '.gnupg', '.aws'])

const SECRETS = [
  /^\.env(?:\.|rc$|$)/,
  /^\.?(?:npmrc|netrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /\.(?:env|tfvars|pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)$/,
  /^(?:credentials|secrets?)(?:\.|$)/,
  /\.local\.toml$/
]
/** Git pathspecs that exclude protected files from the output of a command. */
export const PROTECTED_PATHSPECS: readonly string[] = [
  ...[...FOLDERS].map(folder => `${folder}/**`),
  ...[
    '.env',
    '.env.*',
    '.envrc',
    '.npmrc',
    '.netrc',
    '.pypirc',
    '.pgpass',
    '.htpasswd',
    '.git-credentials',
    '.dockercfg'
  ],
  ...['id_rsa*', 'id_dsa*', 'id_ecdsa*', 'id_ed25519*'],
  ...['env', 'tfvars', 'pem', 'key', 'p12', 'pfx', 'jks', 'keystore', 'kdbx', 'asc', 'gpg'].map(
    ending => `*.${ending}`
  ),
  ...['credentials', 'credentials.*', 'secret', 'secret.*', 'secrets', 'secrets.*', '*.local.toml']
].map(pattern => `:(exclude,glob,icase)**/${pattern}`)

/** Matches names of example files, which contain no secrets. */
const TEMPLATES = /\.(?:example|sample|template|dist)$/

/**
 * Returns the reason why a model must not read or write a project path (relative, with forward slashes); null if it
 * may.
 */
export function protection(path: string): string | null {
  const parts = path.toLowerCase().split('/')
  const folder = parts.find(part => FOLDERS.has(part))
  if (folder !== undefined) return `${folder} is hidden from models`
  const name = parts.at(-1) ?? ''
  if (SECRETS.some(pattern => pattern.test(name)) && !TEMPLATES.test(name))
    return 'files with that name may contain secrets'
  return null
}
