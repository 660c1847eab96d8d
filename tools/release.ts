/**
 * Makes and checks the files of a release (docs/releasing.md). Needs `npm run build`.
 *
 *   npm run release -- --out DIR [--tag v1.2.3] [--bundle] [--plugins a,b] [--scope NAME]
 *     [--key FILE] [--runtimes linux-x64,…] [--no-audit]
 *   npm run release -- --out DIR --key FILE --sign-only
 *   npm run release -- --out DIR --check [--key FILE]
 *
 * Writes `npm/` with a tarball for each package, `svc-TAG.tgz` for `svc upgrade`, whose libraries npm installs from the
 * lockfile in it, `sbom.cdx.json`, `CHANGELOG.md` and `checksums.txt`. `--bundle` adds `svc-TAG-TRIPLE.tar.gz` with all
 * libraries, for the machine that runs this. `--plugins` selects plugins; default: all. `--tag` sets the version of all
 * packages; default: that of the SDK. `--scope` publishes under another scope than @svc. `--key` names an Ed25519 private
 * key in PEM, and signs the list: `checksums.txt.sig`. `--runtimes` selects the packages with ONNX Runtime to make; `none`
 * for a release with one that is published already. `--sign-only` signs a list that was joined from those of several
 * machines. `--check` only checks what is in the folder.
 */
import { createHash, createPrivateKey } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ONNX_RUNTIME_PLATFORMS } from '../contracts/src/inference/onnx-runtime.ts'
import { publicKeyOf, SIGNATURE, signatureOf } from '../plugins/updates/src/signature.ts'
import { Archive } from './release/archive.ts'
import { openAdvisories } from './release/audit.ts'
import { changesOf, dateOf } from './release/changelog.ts'
import { problemsOfRelease, settingOfKey } from './release/check.ts'
import type { Lock } from './release/lockfile.ts'
import { stageOnnxRuntime } from './release/onnx-runtime.ts'
import { sbomOf } from './release/sbom.ts'
import { packStaged, type StagedPackage, stagePackages } from './release/stage.ts'
import { stageSvcPackage } from './release/svc-package.ts'
import { checkBuilt, jsonText, ROOT, readJson, workspacesOf } from './release/workspaces.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    tag: { type: 'string' },
    bundle: { type: 'boolean', default: false },
    plugins: { type: 'string' },
    scope: { type: 'string', default: 'svc' },
    key: { type: 'string' },
    runtimes: { type: 'string', default: ONNX_RUNTIME_PLATFORMS.join(',') },
    'no-audit': { type: 'boolean', default: false },
    'sign-only': { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})
if (values.out === undefined) throw new Error('--out is missing: name the folder for the files')
const out = resolve(values.out)
const key = values.key === undefined ? null : readFileSync(values.key, 'utf8')

if (values.check) await check()
else if (values['sign-only']) signList()
else await make()

async function make(): Promise<void> {
  const workspaces = workspacesOf(values.plugins?.split(','))
  checkBuilt(workspaces)
  const sdk = workspaces[0]?.manifest.version ?? ''
  const tag = checkedTag(values.tag ?? `v${sdk}`, sdk)
  const { scope } = values
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(scope)) throw new Error(`--scope ${scope}: write a scope of npm without @`)
  const version = tag.slice(1)
  const changes = changesOf(tag)
  const { packages: lock } = readJson<{ packages: Lock }>(join(ROOT, 'package-lock.json'))
  const scratch = mkdtempSync(join(tmpdir(), 'svc-release-'))
  try {
    mkdirSync(join(out, 'npm'), { recursive: true })
    progress(`packing ${workspaces.length} packages of ${tag}`)
    const staged = stagePackages(workspaces, { scratch, version, scope })
    const usesRuntime = workspaces.some(({ manifest }) => manifest.devDependencies?.['onnxruntime-node'] !== undefined)
    const published = [
      ...staged,
      ...(usesRuntime ? runtimes().map(platform => stageOnnxRuntime(platform, scratch, scope)) : []),
      stageSvcPackage(workspaces, { scratch, version, scope }, changes)
    ]
    const files = published.map(each => `npm/${packStaged(each, join(out, 'npm'))}`)
    progress('making the archives for svc upgrade')
    const archive = new Archive({ workspaces, staged, scratch, tag, scope, out, changes, lock })
    files.push(archive.portable())
    progress('listing the libraries')
    const digests = new Map(published.map((each, index) => [each.name, digestOf(files[index] as string, 'sha512')]))
    const date = dateOf('HEAD')
    const bom = sbomOf({ tag, date, archive: archive.folder, nested: archive.nested, workspaces, published, digests })
    files.push(write('sbom.cdx.json', jsonText(bom)), write('CHANGELOG.md', changes))
    if (!values['no-audit']) audit(archive.folder)
    if (values.bundle) files.push(archive.bundled())
    const sums = files.map(file => `${digestOf(file, 'sha256')}  ${file}\n`).join('')
    write('checksums.txt', sums)
    // A signature of another list would only confuse.
    rmSync(join(out, SIGNATURE), { force: true })
    process.stdout.write(sums)
    if (key !== null) signList()
    progress(publishingOrder(published))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Throws unless the tag is a version of at least the SDK's major version, which the packages of plugins accept. */
function checkedTag(tag: string, sdk: string): string {
  if (!/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(tag)) throw new Error(`--tag ${tag}: write a version such as v1.2.3`)
  const major = (version: string) => Number(version.split('.')[0])
  if (major(tag.slice(1)) < major(sdk))
    throw new Error(`--tag ${tag}: plugins are made for SDK ${sdk}; write that or more`)
  return tag
}

/** Returns the platforms whose packages with ONNX Runtime are made. */
function runtimes(): string[] {
  const known: readonly string[] = ONNX_RUNTIME_PLATFORMS
  const named = values.runtimes === 'none' ? [] : values.runtimes.split(',')
  const unknown = named.find(platform => !known.includes(platform))
  if (unknown !== undefined) throw new Error(`--runtimes ${unknown}: write none or some of ${known.join(',')}`)
  return named
}

function audit(folder: string): void {
  progress('asking the registry for advisories')
  const open = openAdvisories(folder, join(import.meta.dirname, 'release', 'audit-exceptions.json'))
  if (open.length === 0) return
  throw new Error(`npm audit:\n${open.join('\n')}\nupdate the libraries, or explain why svc is not affected`)
}

async function check(): Promise<void> {
  const problems = await problemsOfRelease(out, key === null ? null : settingOfKey(key))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exitCode = 1
  else process.stdout.write(`the release in ${out} is complete\n`)
}

/** Signs `checksums.txt` with the key. */
function signList(): void {
  if (key === null) throw new Error('--sign-only: name the private key with --key')
  const privateKey = createPrivateKey(key)
  write(SIGNATURE, signatureOf(readFileSync(join(out, 'checksums.txt'), 'utf8'), privateKey))
  progress(`signed; the public key is ${publicKeyOf(privateKey)}`)
}

function publishingOrder(published: readonly StagedPackage[]): string {
  return `${published.length} packages: publish those in npm/ (docs/releasing.md), ${published.at(-1)?.name} last`
}

function write(file: string, text: string): string {
  writeFileSync(join(out, file), text)
  return file
}

function digestOf(file: string, algorithm: 'sha256' | 'sha512'): string {
  return createHash(algorithm)
    .update(readFileSync(join(out, file)))
    .digest('hex')
}

function progress(message: string): void {
  process.stderr.write(`${message}\n`)
}
