/** Entry of package-lock.json. */
export interface Locked {
  readonly name?: string
  readonly version?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Entries of package-lock.json by path. */
export type Lock = Readonly<Record<string, Locked>>

/** Returns the paths of all libraries that packages need to run, and of `more` libraries, sorted. */
export function neededLibraries(lock: Lock, folders: readonly string[], more: readonly string[] = []): string[] {
  const extra = more.map(name => `node_modules/${name}`)
  const found = new Set<string>(extra)
  const waiting = [...folders, ...extra]
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const {
      dependencies = {},
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {}
    } = lock[key] ?? {}
    const peers = Object.keys(peerDependencies).filter(name => peerDependenciesMeta[name]?.optional !== true)
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]) {
      const place = placeOf(lock, key, name)
      if (place === undefined || found.has(place) || lock[place]?.link === true) continue
      found.add(place)
      waiting.push(place)
    }
  }
  return [...found].sort()
}

/** Returns name and version of a library, as package.json names them. */
export function specOf(lock: Lock, key: string): [string, string] {
  const { name, version: exact = '' } = lock[key] ?? {}
  const own = key.slice('node_modules/'.length)
  return [own, name === undefined || name === own ? exact : `npm:${name}@${exact}`]
}

/** Returns the path of a package as Node.js resolves it from another one. */
function placeOf(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const key = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (!folder.endsWith('node_modules') && lock[key] !== undefined) return key
    if (folder === '') return undefined
  }
}
