import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf, signatureOf, targetTriple } from '#root'
import { archiveOf, openReleases, type Release, releaseOf, sha256 } from './releases.ts'
import { upgrade, versionIn } from './upgrade.ts'

async function open(t: Test, releases: readonly Release[]) {
  const server = await openReleases(t, releases)
  const home = join(t.testdir(), 'home')
  return { server, home, settings: { github_api_url: server.url } }
}

t.test('without --apply, a new version is reported and nothing is installed', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.1.0'), releaseOf('0.2.0'), releaseOf('0.1.5')])
  const { report, steps } = await upgrade(home, settings)
  t.same(report, {
    status: 'available',
    current_version: '0.1.0',
    installed_version: null,
    asset: 'svc-v0.2.0.tgz',
    target_triple: targetTriple(),
    source: 'github:acme/svc',
    manifest_graph_touched: false,
    available_version: '0.2.0'
  })
  t.same(steps, [])
  t.notOk(existsSync(join(home, 'versions')))
  t.notOk(
    server.requests.some(({ path }) => path.startsWith('/files/')),
    'no file was fetched'
  )
  const { text } = await upgrade(home, settings, {}, { json: false })
  t.match(text, 'svc 0.2.0 is available; this is svc 0.1.0')
  t.match((await upgrade(home, settings, {}, { current: '0.2.0' })).report, { status: 'up_to_date' })
})

t.test('a version is installed next to the one in use, and the way back leads to it', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.2.0')])
  const first = await upgrade(home, settings, { apply: true })
  t.match(first.report, { status: 'installed', installed_version: '0.2.0', asset: 'svc-v0.2.0.tgz' })
  t.equal(versionIn(home), '0.2.0')
  t.match((await upgrade(home, settings, { apply: true })).report, { status: 'up_to_date' })
  await t.rejects(upgrade(home, settings, { rollback: true }), { code: 'UPD_NO_PREVIOUS' })
  server.releases.push(releaseOf('0.3.0'))
  t.match((await upgrade(home, settings, { apply: true })).report, { status: 'installed' })
  t.equal(versionIn(home), '0.3.0')
  t.match((await upgrade(home, settings, { rollback: true })).report, {
    status: 'rolled_back',
    installed_version: '0.2.0'
  })
  t.equal(versionIn(home), '0.2.0')
  const fetched = server.requests.length
  const again = await upgrade(home, settings, { apply: true })
  t.match(again.report, { status: 'installed', installed_version: '0.3.0' })
  t.notOk(again.steps.includes('download'), 'a version that is there is not fetched again')
  t.ok(server.requests.length > fetched)
  t.equal(versionIn(home), '0.3.0')
})

t.test('versions beyond the limit are removed, but never the current and the previous one', async t => {
  const { server, home, settings } = await open(t, [])
  for (const version of ['0.2.0', '0.3.0', '0.4.0', '0.5.0']) {
    server.releases.push(releaseOf(version))
    await upgrade(home, { ...settings, keep_versions: 2 }, { apply: true })
  }
  const names = readdirSync(join(home, 'versions')).map(name => name.replace(/-[0-9a-f]{16}$/, ''))
  t.same(names.sort(), ['v0.4.0', 'v0.5.0'])
  t.same(readdirSync(join(home, 'downloads')), [])
  t.match((await upgrade(home, settings, { rollback: true })).report, { installed_version: '0.4.0' })
})

t.test('another major version needs --allow-breaking, and a prerelease its channel or option', async t => {
  const { home, settings } = await open(t, [
    releaseOf('1.0.0'),
    releaseOf('1.1.0-rc.1'),
    { ...releaseOf('1.2.0'), prerelease: true }
  ])
  t.match((await upgrade(home, settings)).report, { status: 'breaking', available_version: '1.0.0' })
  await t.rejects(upgrade(home, settings, { apply: true }), { code: 'UPD_BREAKING', hint: /--allow-breaking/ })
  t.notOk(existsSync(join(home, 'current')))
  t.match((await upgrade(home, settings, { channel: 'next' })).report, { available_version: '1.2.0' })
  t.match((await upgrade(home, settings, { allow_prerelease: true })).report, { available_version: '1.2.0' })
  t.match((await upgrade(home, settings, { version: 'v1.1.0-rc.1' })).report, { available_version: '1.1.0-rc.1' })
  const flags = { apply: true, allow_breaking: true }
  t.match((await upgrade(home, settings, flags)).report, { status: 'installed', installed_version: '1.0.0' })
})

t.test('the archive for this machine is preferred to the portable one', async t => {
  const triple = targetTriple() ?? 'none'
  const { home, settings } = await open(t, [
    releaseOf('0.2.0', { [`svc-v0.2.0-${triple}.tar.gz`]: archiveOf('0.2.0') })
  ])
  const { report } = await upgrade(home, settings, { apply: true })
  t.equal(report.asset, `svc-v0.2.0-${triple}.tar.gz`)
})

t.test('a file that was tampered with is refused, and the version in use stays', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.2.0')])
  await upgrade(home, settings, { apply: true })
  const good = releaseOf('0.3.0')
  const archive = good.files['svc-v0.3.0.tgz'] as Buffer
  const flipped = Buffer.from(archive)
  flipped[100] = (flipped[100] ?? 0) ^ 1
  const other = archiveOf('0.9.9')
  const cases: readonly [string, Release['files'], string][] = [
    ['one bit', { 'svc-v0.3.0.tgz': flipped }, 'UPD_CHECKSUM'],
    ['cut off', { 'svc-v0.3.0.tgz': archive.subarray(0, -10) }, 'UPD_CHECKSUM'],
    ['no line', { 'checksums.txt': `${sha256('')}  other.tgz\n` }, 'UPD_ASSET_MISSING'],
    [
      'two lines',
      { 'checksums.txt': `${good.files['checksums.txt']}${sha256('')}  svc-v0.3.0.tgz\n` },
      'UPD_ASSET_MISSING'
    ],
    ['a damaged archive', signed(archive.subarray(0, -10)), 'UPD_ARCHIVE_INVALID'],
    ['another version', signed(other), 'UPD_NOT_RUNNABLE'],
    [
      'a program that fails',
      signed(archiveOf('0.3.0', [{ path: 'svc-0.3.0/bin/package.json', text: '{' }])),
      'UPD_NOT_RUNNABLE'
    ]
  ]
  for (const [name, files, code] of cases) {
    server.releases.splice(0, 9, { tag: 'v0.3.0', files: { ...good.files, ...files } })
    await t.rejects(upgrade(home, settings, { apply: true }), { code }, name)
    t.equal(versionIn(home), '0.2.0', `${name}: the version in use stays`)
    t.equal(readdirSync(join(home, 'versions')).length, 1, `${name}: nothing is left`)
  }
  server.releases.splice(0, 9, good)
  t.match((await upgrade(home, settings, { apply: true })).report, { installed_version: '0.3.0' })

  function signed(content: Buffer): Release['files'] {
    return { 'svc-v0.3.0.tgz': content, 'checksums.txt': `${sha256(content)}  svc-v0.3.0.tgz\n` }
  }
})

t.test('with a public key, only releases that its owner signed are installed', async t => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const stranger = generateKeyPairSync('ed25519').privateKey
  const release = releaseOf('0.2.0')
  const list = String(release.files['checksums.txt'])
  const other = String(releaseOf('0.1.9').files['checksums.txt'])
  const { server, home, settings } = await open(t, [])
  const base64 = publicKeyOf(privateKey)
  const attempt = (signature: string | null, checksums = list, public_key = base64) => {
    const signed = signature === null ? {} : { 'checksums.txt.sig': signature }
    server.releases.splice(0, 1, { ...release, files: { ...release.files, 'checksums.txt': checksums, ...signed } })
    return upgrade(home, { ...settings, public_key }, { apply: true })
  }
  const good = signatureOf(list, privateKey)
  const refused: readonly (readonly [string | null, string?])[] = [
    [null],
    [''],
    ['not base64'],
    [signatureOf(list, stranger)],
    [good, `${list} `],
    [good, list.replace(/^./, digit => (digit === '0' ? '1' : '0'))]
  ]
  for (const [signature, checksums] of refused)
    await t.rejects(attempt(signature, checksums), { code: 'UPD_SIGNATURE' }, String(signature))
  const bytes = Buffer.from(good, 'base64')
  for (let index = 0; index < bytes.length; index++) {
    const flipped = Buffer.from(bytes)
    flipped[index] = (flipped[index] ?? 0) ^ 1
    await t.rejects(attempt(flipped.toString('base64')), { code: 'UPD_SIGNATURE' }, `byte ${index}`)
  }
  await t.rejects(attempt(signatureOf(other, privateKey), other), { code: 'UPD_ASSET_MISSING' }, 'of another release')
  t.notOk(existsSync(join(home, 'current')))
  const { report, steps } = await attempt(good)
  t.match(report, { status: 'installed', installed_version: '0.2.0' })
  t.ok(steps.includes('signature'))
  const hex = Buffer.from(base64, 'base64').toString('hex')
  server.releases.push({ ...releaseOf('0.3.0') })
  await t.rejects(upgrade(home, { ...settings, public_key: hex }, { apply: true }), { code: 'UPD_SIGNATURE' })
  t.equal(versionIn(home), '0.2.0')
})

t.test('a server that hangs, drops the connection or sends too much ends the installation', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.2.0')])
  const cases: Readonly<Record<string, (response: import('node:http').ServerResponse) => void>> = {
    hangs: response => void response.writeHead(200, { 'content-length': 1_000 }).write('x'),
    drops: response => {
      response.writeHead(200, { 'content-length': 1_000 }).write('x')
      setTimeout(() => response.destroy(), 10)
    },
    'sends too much': response => void response.end(Buffer.alloc(50_000)),
    fails: response => void response.writeHead(500).end()
  }
  for (const [name, answer] of Object.entries(cases)) {
    server.intercept = ({ url = '' }, response) => {
      if (!url.endsWith('.tgz')) return false
      answer(response)
      return true
    }
    // Long enough for the requests before the one that hangs.
    const limits = { timeout_ms: name === 'hangs' ? 1_500 : 30_000, max_download_bytes: 20_000 }
    await t.rejects(upgrade(home, { ...settings, ...limits }, { apply: true }), { code: 'UPD_DOWNLOAD_FAILED' }, name)
    t.same([readdirSync(join(home, 'versions')), readdirSync(join(home, 'downloads'))], [[], []], name)
  }
})

t.test(
  'the gateway sidecar of a release is installed too; without it, or if it is damaged, only the release is',
  async t => {
    const name = `openclaw-gateway-v0.2.0-${targetTriple()}`
    const { server, home, settings } = await open(t, [releaseOf('0.2.0', { [name]: '#!/bin/sh\necho sidecar\n' })])
    await upgrade(home, settings, { apply: true })
    t.match(readFileSync(join(home, 'current', 'bin', 'openclaw-gateway'), 'utf8'), 'echo sidecar')
    const damaged = releaseOf('0.3.0', { [`openclaw-v0.3.0-${targetTriple()}`]: 'a' })
    server.releases.push({ ...damaged, files: { ...damaged.files, [`openclaw-v0.3.0-${targetTriple()}`]: 'b' } })
    t.match((await upgrade(home, settings, { apply: true })).report, { installed_version: '0.3.0' })
    t.notOk(existsSync(join(home, 'current', 'bin', 'openclaw-gateway')))
    const off = releaseOf('0.4.0', { [name.replace('0.2.0', '0.4.0')]: 'x' })
    server.releases.push(off)
    await upgrade(home, { ...settings, sidecar: false }, { apply: true })
    t.notOk(existsSync(join(home, 'current', 'bin', 'openclaw-gateway')))
  }
)

t.test('two processes never install at once, and the lock of a killed one is taken over', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.2.0')])
  let second: Promise<unknown> | undefined
  server.intercept = ({ url = '' }) => {
    if (url.endsWith('.tgz')) second ??= upgrade(home, settings, { apply: true }).catch(error => error)
    return false
  }
  t.match((await upgrade(home, settings, { apply: true })).report, { status: 'installed' })
  t.match(await second, { code: 'UPD_BUSY' })
  writeFileSync(
    join(home, 'lock'),
    JSON.stringify({ host: (await import('node:os')).hostname(), pid: 4_194_303, start: null })
  )
  server.releases.push(releaseOf('0.3.0'))
  t.match((await upgrade(home, settings, { apply: true })).report, { status: 'installed' })
  t.notOk(existsSync(join(home, 'lock')))
})

t.test('Ctrl-C during the download leaves nothing', async t => {
  const { server, home, settings } = await open(t, [releaseOf('0.2.0')])
  const stop = new AbortController()
  server.intercept = ({ url = '' }, response) => {
    if (!url.endsWith('.tgz')) return false
    response.writeHead(200).write('x')
    stop.abort()
    return true
  }
  await t.rejects(upgrade(home, settings, { apply: true }, { signal: stop.signal }), { name: 'AbortError' })
  t.same([readdirSync(join(home, 'versions')), readdirSync(join(home, 'downloads'))], [[], []])
})

t.test('a folder that cannot be written is an error that names it', async t => {
  const { settings } = await open(t, [releaseOf('0.2.0')])
  const home = join(t.testdir({ file: '' }), 'file', 'home')
  await t.rejects(upgrade(home, settings, { apply: true }), { code: 'UPD_INSTALL_FAILED', message: home })
})

t.test('options that would have no effect are refused', async t => {
  const home = t.testdir()
  for (const flags of [
    { ref: 'main' },
    { repo_root: '.' },
    { source: 'repo', version: 'v1' },
    { source: 'repo', allow_breaking: true },
    { rollback: true, apply: true },
    { rollback: true, version: 'v1' },
    { version: 'v1', channel: 'next' },
    { version: 'v1', allow_prerelease: true },
    { base_url: 'https://releases.example' },
    { provider: 'http', version: 'v1', base_url: 'https://releases.example', repo: 'owner/name' }
  ])
    await t.rejects(upgrade(home, {}, flags), { code: 'UPD_OPTIONS' }, JSON.stringify(flags))
  await t.rejects(upgrade(home, { version: 'v1' }, { channel: 'next' }), {
    code: 'UPD_OPTIONS',
    hint: /SVC_UPGRADE_VERSION/
  })
})

t.test('the links of the toolchain are relative, so that the folder can be moved', async t => {
  const { home, settings } = await open(t, [releaseOf('0.2.0')])
  await upgrade(home, settings, { apply: true })
  t.match(readlinkSync(join(home, 'current')), /^versions\/v0\.2\.0-[0-9a-f]{16}$/)
  t.equal(readlinkSync(join(home, 'bin', 'svc')), '../current/bin/svc.cjs')
})
