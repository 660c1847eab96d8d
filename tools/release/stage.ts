import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { create, extract } from 'tar'
import { thirdPartyNotices } from './notices.ts'
import { publishedManifest } from './published-manifest.ts'
import { jsonText, type Manifest, ROOT, readJson, type Workspace } from './workspaces.ts'

/** A package as it is published, in a separate folder. */
export interface StagedPackage {
  readonly name: string
  readonly version: string
  readonly folder: string
}

export interface StageOptions {
  /** Existing empty folder. */
  readonly scratch: string
  readonly version: string
  /** Scope of the published names, without @. */
  readonly scope: string
}

/** Files that only fit the machine, the version or the checkout that made them. */
const LOCAL_FILE = /(?:^|[\\/])(?:[^\\/]*\.v8|plugin\.map\.json|bundled\.json|\.tsbuildinfo)$/
/** Files that may name other packages. */
const TEXT_FILE = new Set(['.cjs', '.html', '.js', '.json', '.md', '.mjs', '.toml', '.ts', '.txt', '.yaml'])

/** Packs packages of this repository with one npm process, and writes them as they are published into folders. */
export function stagePackages(workspaces: readonly Workspace[], options: StageOptions): StagedPackage[] {
  const packed = packWithNpm(workspaces, join(options.scratch, 'packed'))
  return workspaces.map((workspace, index) => {
    const { name } = workspace.manifest
    const folder = join(options.scratch, 'packages', ...name.split('/'))
    mkdirSync(folder, { recursive: true })
    extract({ file: packed[index] as string, cwd: folder, strip: 1, sync: true })
    for (const path of filesIn(folder)) if (LOCAL_FILE.test(path)) rmSync(join(folder, path))
    writeFileSync(join(folder, 'package.json'), jsonText(publishedManifest(workspace, options.version)))
    setManifestVersion(join(folder, 'dist', 'plugin.json'), options.version)
    cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
    const notices = thirdPartyNotices(workspace.folder)
    if (notices !== null) writeFileSync(join(folder, 'THIRD-PARTY.md'), notices)
    return finishPackage(folder, options.scope)
  })
}

/** Sets the version in the manifest of a built plugin, which must be that of its package. */
function setManifestVersion(file: string, version: string): void {
  if (existsSync(file)) writeFileSync(file, jsonText({ ...readJson<Manifest>(file), version }))
}

/** Renames the packages of this repository in the files of a staged package, and sets the same mode for all files. */
export function finishPackage(folder: string, scope: string): StagedPackage {
  for (const path of filesIn(folder)) {
    const file = join(folder, path)
    if (scope !== 'svc' && TEXT_FILE.has(extname(path))) {
      const text = readFileSync(file, 'utf8')
      const renamed = renameScope(text, scope)
      if (renamed !== text) writeFileSync(file, renamed)
    }
    chmodSync(file, /(?:^|[\\/])bin[\\/][^\\/]+\.[cm]?js$/.test(path) ? 0o755 : 0o644)
  }
  const { name, version } = readJson<Manifest>(join(folder, 'package.json'))
  return { name, version, folder }
}

/** Replaces the scope @svc in names of packages. */
export function renameScope(text: string, scope: string): string {
  return text.replace(/(?<![\w@/.-])@svc(?=\\?\/|['"`])/g, `@${scope}`)
}

/** Writes the tarball of a staged package; returns its file name. The same content gives the same bytes. */
export function packStaged({ name, version, folder }: StagedPackage, out: string): string {
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  const target = join(out, file)
  const entries = filesIn(folder).sort()
  create(
    { file: target, cwd: folder, gzip: true, portable: true, noMtime: true, prefix: 'package', sync: true },
    entries
  )
  return file
}

/** Returns the paths of all files below a folder. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

/** Returns the tarballs in the order of the packages. */
function packWithNpm(workspaces: readonly Workspace[], target: string): string[] {
  mkdirSync(target, { recursive: true })
  const folders = workspaces.map(({ folder }) => `./${folder}`)
  const argv = ['pack', ...folders, '--json', '--silent', '--ignore-scripts', '--pack-destination', target]
  const report = execFileSync('npm', argv, {
    cwd: ROOT,
    encoding: 'utf8',
    env: withoutNpm(process.env),
    maxBuffer: 67_108_864
  })
  const packed = JSON.parse(report) as { name: string; filename: string }[]
  return workspaces.map(({ manifest }) => {
    const { filename = '' } = packed.find(({ name }) => name === manifest.name) ?? {}
    return join(target, basename(filename.replace('@', '').replace('/', '-')))
  })
}

/** Leaves out the variables of an npm that runs this process. */
export function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith('npm_')))
}
