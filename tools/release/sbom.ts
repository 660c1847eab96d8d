import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { bundledPackages } from './notices.ts'
import { type StagedPackage, withoutNpm } from './stage.ts'
import { type Manifest, ROOT, readJson, type Workspace } from './workspaces.ts'

interface Component {
  readonly 'bom-ref': string
  readonly [field: string]: unknown
}

interface Bom {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
  readonly [field: string]: unknown
}

export interface SbomOptions {
  readonly tag: string
  /** Date of the release, as YYYY-MM-DD. */
  readonly date: string
  /** Folder with the package.json and package-lock.json of all libraries. */
  readonly archive: string
  /** Folders of libraries that are not in the lockfile, below the root of the repository. */
  readonly nested: readonly string[]
  readonly workspaces: readonly Workspace[]
  readonly published: readonly StagedPackage[]
  /** SHA-512 of the tarball of each published package, by name, in hexadecimal. */
  readonly digests: ReadonlyMap<string, string>
}

/**
 * Returns the software bill of materials in CycloneDX: npm's list of libraries, the packages of the release, and the
 * libraries whose code is bundled into them. The same release gives the same text.
 */
export function sbomOf({ tag, date, archive, nested, workspaces, published, digests }: SbomOptions): Bom {
  const argv = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const options = { cwd: archive, encoding: 'utf8', env: withoutNpm(process.env), maxBuffer: 67_108_864 } as const
  const bom = JSON.parse(execFileSync('npm', argv, options)) as Bom
  const libraries = new Map(bom.components.map(component => [component['bom-ref'], component]))
  for (const path of [...nested, ...workspaces.flatMap(({ folder }) => bundledPackages(folder))]) {
    const { name, version, license } = readJson<Manifest>(`${ROOT}/${path}/package.json`)
    const component = componentOf(name, version, license)
    const ref = component['bom-ref']
    if (!libraries.has(ref)) libraries.set(ref, component)
  }
  const own = published.map(({ name, version, folder }) => {
    const { license } = readJson<Manifest>(`${folder}/package.json`)
    const digest = digests.get(name)
    const hashes = digest === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: digest }] }
    return { ...componentOf(name, version, license), ...hashes }
  })
  const components = [...own, ...libraries.values()]
  const main = bom.metadata.component as Readonly<Record<string, unknown>>
  const root = { ...main, name: 'svc', version: tag.slice(1) }
  return {
    ...bom,
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([tag, components]))}`,
    metadata: { ...bom.metadata, timestamp: `${date}T00:00:00.000Z`, component: root },
    components
  }
}

function componentOf(name: string, version: string, license: string | undefined): Component {
  const [scope, own] = name.startsWith('@') ? name.slice(1).split('/') : [undefined, name]
  const purl = `pkg:npm/${scope === undefined ? '' : `%40${scope}/`}${own}@${version}`
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name: own,
    ...(scope === undefined ? {} : { group: `@${scope}` }),
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] })
  }
}

/** Returns a UUID of a text, always the same for the same text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(18, 20),
    hex.slice(20, 32)
  ].join('-')
}
