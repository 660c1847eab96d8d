import { ONNX_RUNTIME_PLATFORMS } from '../../contracts/src/inference/onnx-runtime.ts'
import type { Manifest, Workspace } from './workspaces.ts'

/** Repository of the project; also the default of the setting `plugins.updates.repo`. */
export const REPOSITORY = 'https://github.com/vox-foundation/vox'

/**
 * Returns the package.json of a package as it is published: all packages have the version of the release and depend on
 * each other in exactly this version. Conditions, fields and dependencies that only the repository needs are left out.
 */
export function publishedManifest({ folder, manifest }: Workspace, version: string): Manifest {
  const { devDependencies = {}, peerDependencies, optionalDependencies, scripts: _, ...rest } = manifest
  const {
    name,
    version: _version,
    description,
    license,
    keywords,
    type,
    engines,
    exports,
    imports,
    svc,
    dependencies,
    ...others
  } = rest
  const optional = { ...optionalDependencies, ...runtimePackages(devDependencies['onnxruntime-node']) }
  const fields = {
    name,
    version,
    description,
    keywords: keywords ?? (svc === undefined ? ['svc'] : ['svc', 'svc-plugin', pluginName(name)]),
    license,
    ...originOf(folder),
    type,
    engines,
    svc: svc === undefined ? undefined : publishedPlugin(svc),
    ...others,
    exports: withoutSources(exports),
    imports: withoutSources(imports),
    dependencies: exact(dependencies, version, ''),
    optionalDependencies: Object.keys(optional).length === 0 ? undefined : optional,
    peerDependencies: exact(peerDependencies, version, '^')
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as Manifest
}

/** Returns the fields that say where a package comes from. */
export function originOf(folder: string): object {
  return {
    homepage: `${REPOSITORY}/tree/main/${folder}#readme`,
    repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder },
    bugs: { url: `${REPOSITORY}/issues` },
    publishConfig: { access: 'public', provenance: true }
  }
}

/** Returns the packages with ONNX Runtime, each in its version of onnxruntime-node. */
function runtimePackages(version: string | undefined): Record<string, string> {
  if (version === undefined) return {}
  return Object.fromEntries(ONNX_RUNTIME_PLATFORMS.map(platform => [`@svc/onnxruntime-${platform}`, version]))
}

/** Sources are not published, and entries are compiled already. */
function publishedPlugin({ source: _source, entries: _entries, ...svc }: NonNullable<Manifest['svc']>): object {
  return svc
}

function exact(
  dependencies: Readonly<Record<string, string>> | undefined,
  version: string,
  range: '' | '^'
): Record<string, string> | undefined {
  if (dependencies === undefined) return undefined
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, wanted]) => [name, name.startsWith('@svc/') ? range + version : wanted])
  )
}

/** Leaves out the condition `svc-source` and what has no other; undefined if nothing is left. */
function withoutSources(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value)
    .filter(([condition]) => condition !== 'svc-source')
    .map(([key, inner]) => [key, withoutSources(inner)] as const)
    .filter(([, inner]) => inner !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

function pluginName(name: string): string {
  return name.replace(/^@[^/]+\/plugin-/, '')
}
