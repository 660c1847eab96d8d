/**
 * Makes the files of a release, which `svc upgrade` installs. Needs `npm run build`.
 *
 *   npm run release -- --out DIR [--tag v1.2.3] [--bundle] [--plugins a,b] [--key FILE]
 *   npm run release -- --out DIR --key FILE --sign-only
 *
 * Writes `svc-TAG.tgz`, whose libraries npm installs from the lockfile in it, and `checksums.txt`. `--bundle` adds
 * `svc-TAG-TRIPLE.tar.gz` with all libraries, for the machine that runs this. `--plugins` selects plugins; default: all.
 * `--tag` sets the version of the program; default: that of the kernel. `--key` names an Ed25519 private key in PEM, and
 * signs the list: `checksums.txt.sig`. `--sign-only` signs a list that was joined from those of several machines.
 *
 * Layout of an archive: `bin/svc.cjs`, `release.json`, the packages of this repository in `lib/node_modules`, and
 * libraries in `node_modules`, where Node.js finds them from `lib`.
 */
import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { create, extract } from 'tar'
import { publicKeyOf, SIGNATURE, signatureOf } from '../plugins/updates/src/signature.ts'
import { targetTriple } from '../plugins/updates/src/target.ts'

const ROOT = join(import.meta.dirname, '..')
const CORE = ['plugin-sdk', 'contracts', 'config', 'kernel']

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly engines: { readonly node: string }
}

/** Entry of package-lock.json. */
interface Locked {
  readonly name?: string
  readonly version?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

type Lock = Readonly<Record<string, Locked>>

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    tag: { type: 'string' },
    bundle: { type: 'boolean', default: false },
    plugins: { type: 'string' },
    key: { type: 'string' },
    'sign-only': { type: 'boolean', default: false }
  }
})
if (values.out === undefined) throw new Error('--out is missing: name the folder for the files')
const out = resolve(values.out)
const key = values.key === undefined ? null : createPrivateKey(readFileSync(values.key))
if (values['sign-only']) {
  signList()
  process.exit()
}
const kernel = readJson<Manifest>(join(ROOT, 'kernel', 'package.json'))
const tag = values.tag ?? `v${kernel.version}`
if (!/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(tag)) throw new Error(`--tag ${tag}: write a version such as v1.2.3`)
const version = tag.slice(1)
const plugins = values.plugins?.split(',') ?? readdirSync(join(ROOT, 'plugins'))
const folders = [...CORE, ...plugins.map(name => `plugins/${name}`)]
const unbuilt = folders.filter(folder => !existsSync(join(ROOT, folder, 'dist')))
if (unbuilt.length > 0) throw new Error(`${unbuilt.join(', ')}: not built; run npm run build first`)

const { packages: lock } = readJson<{ packages: Lock }>(join(ROOT, 'package-lock.json'))
const libraries = closure(lock, folders)
const scratch = mkdtempSync(join(tmpdir(), 'svc-release-'))
try {
  const name = `svc-${tag}`
  const stage = join(scratch, name)
  mkdirSync(join(stage, 'bin'), { recursive: true })
  mkdirSync(out, { recursive: true })
  addPackages(stage)
  addLibrariesOfPackages(stage)
  addProgram(stage)
  addFacts(stage, 'npm')
  addLockfile(stage)
  const files = [`${name}.tgz`]
  pack(name, join(out, `${name}.tgz`))
  if (values.bundle) {
    const triple = targetTriple()
    if (triple === null) throw new Error('--bundle: releases have no archive for this machine')
    addLibraries(stage)
    addFacts(stage, 'bundled')
    files.push(`${name}-${triple}.tar.gz`)
    pack(name, join(out, `${name}-${triple}.tar.gz`))
  }
  const sums = files.map(file => `${sha256(join(out, file))}  ${file}\n`)
  writeFileSync(join(out, 'checksums.txt'), sums.join(''))
  process.stdout.write(sums.join(''))
  if (key !== null) signList()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** Signs `checksums.txt` with the key. */
function signList(): void {
  if (key === null) throw new Error('--sign-only: name the private key with --key')
  writeFileSync(join(out, SIGNATURE), signatureOf(readFileSync(join(out, 'checksums.txt'), 'utf8'), key))
  process.stderr.write(`signed; the public key is ${publicKeyOf(key)}\n`)
}

/** Packs all packages of this repository with one npm process, and unpacks them below `lib`. */
function addPackages(stage: string): void {
  const tarballs = join(scratch, 'tarballs')
  mkdirSync(tarballs)
  const argv = ['pack', ...folders.map(folder => `./${folder}`), '--json', '--silent', '--ignore-scripts']
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_')))
  const report = execFileSync('npm', [...argv, '--pack-destination', tarballs], {
    cwd: ROOT,
    encoding: 'utf8',
    env,
    maxBuffer: 67_108_864
  })
  for (const { name, filename } of JSON.parse(report) as { name: string; filename: string }[]) {
    const folder = packageFolder(stage, name)
    mkdirSync(folder, { recursive: true })
    extract({
      file: join(tarballs, basename(filename.replace('@', '').replace('/', '-'))),
      cwd: folder,
      strip: 1,
      sync: true
    })
  }
  const manifest = join(packageFolder(stage, kernel.name), 'package.json')
  writeFileSync(manifest, `${JSON.stringify({ ...readJson<Manifest>(manifest), version }, null, 2)}\n`)
}

/** Copies libraries that a package has in a separate version. */
function addLibrariesOfPackages(stage: string): void {
  for (const folder of folders)
    for (const key of libraries.filter(each => each.startsWith(`${folder}/node_modules/`)))
      copy(
        key,
        join(
          packageFolder(stage, readJson<Manifest>(join(ROOT, folder, 'package.json')).name),
          key.slice(folder.length + 1)
        )
      )
}

/** Copies all other libraries, as far as they are installed on this machine. */
function addLibraries(stage: string): void {
  for (const key of libraries) if (key.startsWith('node_modules/')) copy(key, join(stage, key))
}

function copy(key: string, target: string): void {
  const source = join(ROOT, key)
  // A library for another system is not installed.
  if (!existsSync(source)) return
  // Nested libraries are copied by their own keys, since some of them are only for development.
  const nested = join(source, 'node_modules')
  cpSync(source, target, { recursive: true, dereference: true, filter: path => path !== nested })
}

function addProgram(stage: string): void {
  const main = `#!/usr/bin/env node\nrequire('../lib/node_modules/${kernel.name}/bin/svc.cjs')\n`
  writeFileSync(join(stage, 'bin', 'svc.cjs'), main, { mode: 0o755 })
  cpSync(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'))
}

function addFacts(stage: string, dependencies: 'bundled' | 'npm'): void {
  const facts = { version, tag, node: kernel.engines.node, dependencies }
  writeFileSync(join(stage, 'release.json'), `${JSON.stringify(facts, null, 2)}\n`)
}

/** Writes a package.json with exact versions, and a lockfile with their digests. */
function addLockfile(stage: string): void {
  const direct = libraries.filter(key => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(key))
  const specs = (wanted: boolean) =>
    Object.fromEntries(
      direct
        .filter(key => (lock[key]?.optional === true) === wanted)
        .map(key => {
          const { name, version: exact = '' } = lock[key] ?? {}
          const own = key.slice('node_modules/'.length)
          return [own, name === undefined || name === own ? exact : `npm:${name}@${exact}`]
        })
    )
  const manifest = {
    name: 'svc',
    version,
    private: true,
    license: kernel.license,
    bin: { svc: 'bin/svc.cjs' },
    engines: kernel.engines,
    dependencies: specs(false),
    optionalDependencies: specs(true)
  }
  const packages = Object.fromEntries(
    libraries.filter(key => key.startsWith('node_modules/')).map(key => [key, lock[key]])
  )
  const { private: _, ...root } = manifest
  const whole = { name: 'svc', version, lockfileVersion: 3, requires: true, packages: { '': root, ...packages } }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(stage, 'package-lock.json'), `${JSON.stringify(whole, null, 2)}\n`)
}

/** Packs a folder of the scratch folder. The same content gives the same file. */
function pack(name: string, file: string): void {
  create({ file, cwd: scratch, gzip: true, portable: true, noMtime: true, follow: true, sync: true }, [name])
}

function packageFolder(stage: string, name: string): string {
  return join(stage, 'lib', 'node_modules', ...name.split('/'))
}

/** Returns the keys of all libraries that packages need to run, sorted. */
function closure(entries: Lock, from: readonly string[]): string[] {
  const found = new Set<string>()
  const waiting = [...from]
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const {
      dependencies = {},
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {}
    } = entries[key] ?? {}
    const peers = Object.keys(peerDependencies).filter(name => peerDependenciesMeta[name]?.optional !== true)
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]) {
      const place = placeOf(entries, key, name)
      if (place === undefined || found.has(place) || entries[place]?.link === true) continue
      found.add(place)
      waiting.push(place)
    }
  }
  return [...found].sort()
}

/** Returns the key of a package as Node.js resolves it from another one. */
function placeOf(entries: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const key = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (!folder.endsWith('node_modules') && entries[key] !== undefined) return key
    if (folder === '') return undefined
  }
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function readJson<A>(file: string): A {
  return JSON.parse(readFileSync(file, 'utf8')) as A
}
