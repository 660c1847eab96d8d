import { createHash, createPublicKey } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { extract, list } from 'tar'
import { parseChecksums } from '../../plugins/updates/src/checksums.ts'
import { assertSigned, SIGNATURE } from '../../plugins/updates/src/signature.ts'
import { filesIn } from './stage.ts'
import { type Manifest, readJson } from './workspaces.ts'

const FORBIDDEN = /(?:^|\/)(?:src|test|node_modules)\/|\.(?:map|tsbuildinfo|v8|log)$|(?:^|\/)\.env/

/**
 * Checks the files of a release in a folder. Returns what is wrong with them, one line each.
 *
 * `publicKey`: key of the publisher, in the form of the setting `plugins.updates.public_key`.
 */
export async function problemsOfRelease(out: string, publicKey: string | null): Promise<string[]> {
  const listFile = join(out, 'checksums.txt')
  if (!existsSync(listFile)) return ['checksums.txt: missing; make the release again']
  const text = readFileSync(listFile, 'utf8')
  const problems = [...problemsOfDigests(out, text), ...problemsOfSignature(out, text, publicKey)]
  const archives = readdirSync(out).filter(file => /^svc-v.*\.(?:tgz|tar\.gz)$/.test(file))
  if (archives.length === 0) problems.push('svc-TAG.tgz: missing; make the release again')
  for (const archive of archives) problems.push(...(await problemsOfArchive(out, archive)))
  const npm = join(out, 'npm')
  const packages = existsSync(npm) ? readdirSync(npm).filter(file => file.endsWith('.tgz')) : []
  if (packages.length === 0) problems.push('npm/: holds no packages; make the release again')
  const scratch = mkdtempSync(join(tmpdir(), 'svc-check-'))
  try {
    const manifests = packages.map(file => {
      const folder = join(scratch, file)
      unpack(join(npm, file), folder)
      problems.push(...problemsOfPackage(file, folder))
      return readJson<Manifest>(join(folder, 'package.json'))
    })
    problems.push(...problemsOfVersions(manifests), ...problemsOfBom(out, manifests))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  return problems
}

/** Returns the public key of a private or public Ed25519 key in PEM, in the form of the setting. */
export function settingOfKey(pem: string): string {
  const { x = '' } = createPublicKey(pem).export({ format: 'jwk' })
  return Buffer.from(x, 'base64url').toString('base64')
}

function problemsOfDigests(out: string, text: string): string[] {
  const files = text.split('\n').flatMap(line => line.split(/\s+/)[1] ?? [])
  const known = parseChecksums(text)
  const wrong = files.flatMap(file => {
    if (!existsSync(join(out, file))) return [`${file}: listed in checksums.txt, but missing`]
    const digest = createHash('sha256')
      .update(readFileSync(join(out, file)))
      .digest('hex')
    return known.get(file.split('/').at(-1) ?? '') === digest ? [] : [`${file}: its SHA-256 is not the listed one`]
  })
  const unlisted = filesIn(out).filter(file => !file.startsWith('checksums.txt') && !files.includes(file))
  return [...wrong, ...unlisted.map(file => `${file}: not listed in checksums.txt`)]
}

function problemsOfSignature(out: string, text: string, publicKey: string | null): string[] {
  const file = join(out, SIGNATURE)
  if (publicKey === null) return existsSync(file) ? [`${SIGNATURE}: not checked; name the key with --key`] : []
  try {
    assertSigned(text, existsSync(file) ? readFileSync(file, 'utf8') : null, publicKey, 'in this folder')
    return []
  } catch (error) {
    return [`${SIGNATURE}: ${(error as Error).message}`]
  }
}

async function problemsOfArchive(out: string, archive: string): Promise<string[]> {
  const paths: string[] = []
  await list({ file: join(out, archive), onReadEntry: ({ path, type }) => void (type === 'File' && paths.push(path)) })
  const wanted = ['bin/svc.cjs', 'release.json', 'LICENSE', 'CHANGELOG.md', 'package-lock.json']
  return wanted
    .filter(file => !paths.some(path => path.slice(path.indexOf('/') + 1) === file))
    .map(file => `${archive}: holds no ${file}`)
}

function problemsOfPackage(file: string, folder: string): string[] {
  const files = filesIn(folder)
  const manifest = readJson<Manifest>(join(folder, 'package.json'))
  const missing = ['description', 'license', 'repository', 'homepage', 'bugs', 'keywords', 'publishConfig'].filter(
    field => manifest[field] === undefined
  )
  const named = [...filesOf(manifest.exports), ...filesOf(manifest.bin), ...filesOf(manifest.svc?.plugin)]
  return [
    ...missing.map(field => `${file}: package.json has no ${field}`),
    ...['LICENSE', 'README.md'].filter(each => !files.includes(each)).map(each => `${file}: holds no ${each}`),
    ...files.filter(each => FORBIDDEN.test(each)).map(each => `${file}: holds ${each}, which is not for publishing`),
    ...named.filter(each => !files.includes(each)).map(each => `${file}: package.json names ${each}, which is missing`),
    ...(manifest.scripts === undefined ? [] : [`${file}: package.json has scripts`])
  ]
}

/** Returns the files that a field of package.json names, without patterns. */
function filesOf(value: unknown): string[] {
  if (typeof value === 'string') return value.includes('*') ? [] : [value.replace(/^\.\//, '')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(filesOf) : []
}

function problemsOfVersions(manifests: readonly Manifest[]): string[] {
  const versions = new Map(manifests.map(({ name, version }) => [name, version]))
  return manifests.flatMap(({ name, dependencies = {} }) => {
    const scope = name.slice(0, name.indexOf('/') + 1)
    // Packages with ONNX Runtime have its version, and are published only when it changes.
    return Object.entries(dependencies)
      .filter(([each, wanted]) => each.startsWith(scope) && versions.get(each) !== wanted)
      .map(
        ([each, wanted]) => `${name}: depends on ${each} ${wanted}, and the release has ${versions.get(each) ?? 'none'}`
      )
  })
}

function problemsOfBom(out: string, manifests: readonly Manifest[]): string[] {
  const file = join(out, 'sbom.cdx.json')
  if (!existsSync(file)) return ['sbom.cdx.json: missing; make the release again']
  const { components } = readJson<{ components: { 'bom-ref': string; group?: string; name: string }[] }>(file)
  const refs = new Set(components.map(component => component['bom-ref']))
  const names = new Set(components.map(each => each['bom-ref'].replace(/@[^@]*$/, '')))
  return manifests.flatMap(({ name, version, dependencies = {} }) => [
    ...(refs.has(`${name}@${version}`) ? [] : [`sbom.cdx.json: lacks ${name} ${version}`]),
    ...Object.keys(dependencies)
      .filter(each => !names.has(each))
      .map(each => `sbom.cdx.json: lacks ${each}, on which ${name} depends`)
  ])
}

function unpack(file: string, folder: string): void {
  mkdirSync(folder)
  extract({ file, cwd: folder, strip: 1, sync: true })
}
