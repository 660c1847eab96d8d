import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from 'tar'
import { targetTriple } from '../../plugins/updates/src/target.ts'
import { type Lock, neededLibraries, specOf } from './lockfile.ts'
import { stageOnnxRuntime } from './onnx-runtime.ts'
import type { StagedPackage } from './stage.ts'
import { jsonText, type Manifest, ROOT, readJson, type Workspace } from './workspaces.ts'

export interface ArchiveOptions {
  readonly workspaces: readonly Workspace[]
  /** Staged packages of the workspaces, in the same order. */
  readonly staged: readonly StagedPackage[]
  readonly scratch: string
  readonly tag: string
  readonly scope: string
  readonly out: string
  /** Text of the changes of the release. */
  readonly changes: string
  readonly lock: Lock
}

const RUNTIME = 'onnxruntime-node'

/**
 * Makes the archives of a release, which `svc upgrade` installs, and returns their file names.
 *
 * Layout: `bin/svc.cjs`, `release.json`, the packages of this repository in `lib/node_modules`, and libraries in
 * `node_modules`, where Node.js finds them from `lib`.
 */
export class Archive {
  readonly #options: ArchiveOptions
  readonly #name: string
  readonly folder: string
  readonly #libraries: readonly string[]
  readonly #usesRuntime: boolean

  constructor(options: ArchiveOptions) {
    const { workspaces, scratch, tag, lock } = options
    this.#options = options
    this.#name = `svc-${tag}`
    this.folder = join(scratch, this.#name)
    this.#usesRuntime = workspaces.some(({ manifest }) => manifest.devDependencies?.[RUNTIME] !== undefined)
    const folders = workspaces.map(({ folder }) => folder)
    this.#libraries = neededLibraries(lock, folders, this.#usesRuntime ? [RUNTIME] : [])
    mkdirSync(join(this.folder, 'bin'), { recursive: true })
    this.#addPackages()
    this.#addProgram()
  }

  /** Folders of libraries that a package has in a separate version, below the root of the repository. */
  get nested(): string[] {
    return this.#libraries.filter(key => !isShared(key) && existsSync(join(ROOT, key)))
  }

  /** Makes `svc-TAG.tgz`, whose libraries npm installs from the lockfile in it. */
  portable(): string {
    this.#addFacts('npm')
    writeFileSync(join(this.folder, 'package.json'), jsonText(this.#manifest()))
    writeFileSync(join(this.folder, 'package-lock.json'), jsonText(this.#lockfile()))
    return this.#pack(`${this.#name}.tgz`)
  }

  /** Makes `svc-TAG-TRIPLE.tar.gz` with all libraries, for the machine that runs this. */
  bundled(): string {
    const triple = targetTriple()
    if (triple === null) throw new Error('--bundle: releases have no archive for this machine')
    const { scratch, scope, lock, workspaces } = this.#options
    const folders = workspaces.map(({ folder }) => folder)
    const common = this.#usesRuntime ? ['onnxruntime-common'] : []
    for (const key of neededLibraries(lock, folders, common)) if (isShared(key)) copy(key, join(this.folder, key))
    if (this.#usesRuntime) {
      const runtime = stageOnnxRuntime(`${process.platform}-${process.arch}`, join(scratch, 'runtime'), scope)
      cpSync(runtime.folder, this.#place(runtime.name), { recursive: true })
    }
    this.#addFacts('bundled')
    return this.#pack(`${this.#name}-${triple}.tar.gz`)
  }

  #place(name: string): string {
    return join(this.folder, 'lib', 'node_modules', ...name.split('/'))
  }

  /** Adds the packages, and libraries that a package has in a separate version. */
  #addPackages(): void {
    const { staged, workspaces } = this.#options
    for (const [index, { name, folder }] of staged.entries()) {
      cpSync(folder, this.#place(name), { recursive: true })
      const own = `${workspaces[index]?.folder}/`
      for (const key of this.#libraries.filter(each => each.startsWith(`${own}node_modules/`)))
        copy(key, join(this.#place(name), key.slice(own.length)))
    }
  }

  #addProgram(): void {
    const main = `#!/usr/bin/env node\nrequire('../lib/node_modules/${this.#kernel().name}/bin/svc.cjs')\n`
    writeFileSync(join(this.folder, 'bin', 'svc.cjs'), main, { mode: 0o755 })
    cpSync(join(ROOT, 'LICENSE'), join(this.folder, 'LICENSE'))
    writeFileSync(join(this.folder, 'CHANGELOG.md'), this.#options.changes)
  }

  #kernel(): Manifest {
    const index = this.#options.workspaces.findIndex(({ folder }) => folder === 'kernel')
    return readJson<Manifest>(join(this.#options.staged[index]?.folder ?? '', 'package.json'))
  }

  #addFacts(dependencies: 'bundled' | 'npm'): void {
    const { tag } = this.#options
    const facts = { version: tag.slice(1), tag, node: this.#kernel().engines?.node, dependencies }
    writeFileSync(join(this.folder, 'release.json'), jsonText(facts))
  }

  #manifest() {
    const { lock, tag } = this.#options
    const { license, engines } = this.#kernel()
    const direct = this.#libraries.filter(key => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(key))
    const specs = (optional: boolean) =>
      Object.fromEntries(
        direct.filter(key => (lock[key]?.optional === true) === optional).map(key => specOf(lock, key))
      )
    return {
      ...{ name: 'svc', version: tag.slice(1), private: true, license, bin: { svc: 'bin/svc.cjs' }, engines },
      dependencies: specs(false),
      optionalDependencies: specs(true),
      overrides: readJson<Manifest>(join(ROOT, 'package.json')).overrides
    }
  }

  /** Returns a package-lock.json with exact versions and digests. */
  #lockfile(): object {
    const { lock } = this.#options
    const { private: _, overrides: _overrides, ...root } = this.#manifest()
    const packages = this.#libraries.filter(isShared).map(key => {
      // A library for development here may be needed by a release.
      const { dev: _dev, ...entry } = lock[key] ?? {}
      return [key, entry]
    })
    const { name, version } = root
    return {
      name,
      version,
      lockfileVersion: 3,
      requires: true,
      packages: { '': root, ...Object.fromEntries(packages) }
    }
  }

  /** Packs the folder. The same content gives the same file. */
  #pack(file: string): string {
    const { scratch, out } = this.#options
    const options = { gzip: true, portable: true, noMtime: true, follow: true, sync: true } as const
    create({ file: join(out, file), cwd: scratch, ...options }, [this.#name])
    return file
  }
}

function isShared(key: string): boolean {
  return key.startsWith('node_modules/')
}

/** Copies a library of the repository, if it is installed: one for another system is not. */
function copy(key: string, target: string): void {
  const source = join(ROOT, key)
  if (!existsSync(source)) return
  // Nested libraries are copied by their own keys, since some of them are only for development.
  const nested = join(source, 'node_modules')
  cpSync(source, target, { recursive: true, dereference: true, filter: path => path !== nested })
}
