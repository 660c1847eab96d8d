import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isBreaking, parseChecksums, targetTriple, versionOf } from '#root'
import { openReleases, releaseOf, sha256 } from './releases.ts'
import { upgrade, versionIn } from './upgrade.ts'

const home = (t: Test): string => join(t.testdir(), 'home')

t.test('releases are found on GitHub, with the token only for its origin', async t => {
  const { url, requests, releases } = await openReleases(t, [releaseOf('0.2.0')])
  const other = createServer((request, response) => {
    elsewhere.push(request.headers)
    response.end(releases[0]?.files[request.url?.split('/').at(-1) ?? ''])
  })
  const elsewhere: object[] = []
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const server = { url, requests }
  const folder = home(t)
  const settings = { github_api_url: url, github_token: 'gh-secret' }
  await upgrade(folder, settings, { apply: true })
  t.equal(versionIn(folder), '0.2.0')
  t.ok(server.requests.length >= 3)
  t.ok(server.requests.every(({ headers }) => headers.authorization === 'token gh-secret'))
  t.equal(server.requests.find(({ path }) => path.endsWith('.tgz'))?.headers.accept, 'application/octet-stream')
  // As GitHub does, redirect files to another host.
  const world = await openReleases(t, releases)
  world.intercept = (request, response) => {
    if (!request.url?.startsWith('/files/')) return false
    response.writeHead(302, { location: `http://127.0.0.1:${port}${request.url}` }).end()
    return true
  }
  const second = home(t)
  await upgrade(second, { ...settings, github_api_url: world.url }, { apply: true })
  t.equal(elsewhere.length, 2)
  t.notMatch(JSON.stringify(elsewhere), 'gh-secret')
})

t.test('releases are found on GitLab and on a plain HTTP server', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0'), releaseOf('0.3.0')])
  const gitlab = { gitlab_host: server.url, gitlab_token: 'gl-secret' }
  const first = home(t)
  const { report } = await upgrade(first, gitlab, { apply: true, provider: 'gitlab', version: 'v0.2.0' })
  t.match(report, { source: 'gitlab:acme/svc', installed_version: '0.2.0' })
  t.ok(server.requests.every(({ headers }) => headers['private-token'] === 'gl-secret'))
  t.match((await upgrade(first, gitlab, { provider: 'gitlab' })).report, { available_version: '0.3.0' })
  const second = home(t)
  const flags = { provider: 'http', base_url: `${server.url}/`, version: 'v0.3.0', apply: true }
  t.match((await upgrade(second, {}, flags)).report, { source: server.url, asset: 'svc-v0.3.0.tgz' })
  t.equal(versionIn(second), '0.3.0')
  const pinned = { provider: 'http', base_url: server.url, version: 'v0.2.0' }
  t.match(
    (await upgrade(second, pinned, { apply: true })).report,
    { installed_version: '0.2.0' },
    'a pinned version may be older'
  )
})

t.test('a file of a release on another server is loaded without the token', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0')])
  const other = await openReleases(t, server.releases)
  server.fileRoot = other.url
  const folder = home(t)
  await upgrade(folder, { gitlab_host: server.url, gitlab_token: 'gl-secret' }, { apply: true, provider: 'gitlab' })
  t.equal(versionIn(folder), '0.2.0')
  t.ok(server.requests.every(({ headers }) => headers['private-token'] === 'gl-secret'))
  t.ok(other.requests.length >= 2)
  t.notMatch(JSON.stringify(other.requests), 'gl-secret')
})

t.test('the provider http needs a URL and a version, and an unknown release is an error', async t => {
  const server = await openReleases(t, [])
  const folder = home(t)
  await t.rejects(upgrade(folder, { provider: 'http' }), { code: 'UPD_VERSION_REQUIRED', message: /base URL/ })
  await t.rejects(upgrade(folder, { provider: 'http', base_url: server.url }), { code: 'UPD_VERSION_REQUIRED' })
  const settings = { github_api_url: server.url }
  await t.rejects(upgrade(folder, settings), { code: 'UPD_RELEASE_UNKNOWN' })
  await t.rejects(upgrade(folder, settings, { version: 'v9.9.9' }), {
    code: 'UPD_RELEASE_UNKNOWN',
    message: /v9\.9\.9/
  })
  const http = { provider: 'http', base_url: server.url, version: 'v9.9.9', apply: true, allow_breaking: true }
  await t.rejects(upgrade(folder, {}, http), { code: 'UPD_ASSET_MISSING', message: /checksums\.txt/ })
  await t.rejects(upgrade(folder, {}, { ...http, version: '../../x' }), { code: 'UPD_RELEASE_UNKNOWN' })
})

t.test('plain HTTP is only used on this machine, in redirects too', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0')])
  const folder = home(t)
  for (const url of ['http://example.com', 'ftp://127.0.0.1', 'https://user:pass@example.com'])
    await t.rejects(upgrade(folder, { github_api_url: url }), { code: 'UPD_URL_REFUSED' }, url)
  server.intercept = ({ url = '' }, response) => {
    if (!url.endsWith('checksums.txt')) return false
    response.writeHead(302, { location: 'http://example.com/checksums.txt' }).end()
    return true
  }
  await t.rejects(upgrade(folder, { github_api_url: server.url }, { apply: true }), { code: 'UPD_URL_REFUSED' })
  server.intercept = ({ url = '' }, response) => {
    response.writeHead(302, { location: url }).end()
    return true
  }
  await t.rejects(upgrade(folder, { github_api_url: server.url }), {
    code: 'UPD_DOWNLOAD_FAILED',
    message: /redirects/
  })
})

t.test('answers of an API that are not what they should be are errors', async t => {
  const server = await openReleases(t, [])
  const settings = { github_api_url: server.url }
  const answers: readonly [string, string][] = [
    ['<html>', 'UPD_DOWNLOAD_FAILED'],
    ['null', 'UPD_RELEASE_UNKNOWN'],
    ['[1, null, {"tag_name": 5}, {"tag_name": "nightly"}]', 'UPD_RELEASE_UNKNOWN'],
    ['[{"tag_name": "v0.2.0"}]', 'UPD_ASSET_MISSING'],
    ['[{"tag_name": "v0.2.0", "assets": [{"name": 1}, {"name": "svc-v0.2.0.tgz", "url": "x"}]}]', 'UPD_ASSET_MISSING']
  ]
  for (const [answer, code] of answers) {
    server.intercept = (_, response) => {
      response.end(answer)
      return true
    }
    await t.rejects(upgrade(home(t), settings), { code }, answer)
  }
  server.intercept = (_, response) => {
    response.writeHead(403).end()
    return true
  }
  await t.rejects(upgrade(home(t), settings), { code: 'UPD_DOWNLOAD_FAILED', hint: /token/ })
})

t.test('checksums are found by base name, and an ambiguous one is not used', t => {
  const [a, b] = [sha256('a'), sha256('b')]
  const sums = parseChecksums(
    `# comment\r\n${a.toUpperCase()} *dist\\one.tgz\r\n${b}  ./x/two.tgz\n${a}  two.tgz\n${b}  one\nshort  three\n`
  )
  t.same(Object.fromEntries(sums), { 'one.tgz': a, one: b })
  t.end()
})

t.test('a tag is a version or nothing, and never leaves a folder', t => {
  t.same(['v1.2.3', '1.2.3', 'v1.2.3-rc.1+b', 'nightly', 'v1', 'v1.2.3/..', 'v1.2.3 '].map(versionOf), [
    '1.2.3',
    '1.2.3',
    '1.2.3-rc.1',
    null,
    null,
    null,
    null
  ])
  fc.assert(fc.property(fc.string(), tag => versionOf(tag) === null || /^v?\d[0-9A-Za-z.+-]*$/.test(tag)))
  t.ok(isBreaking('0.9.0', '1.0.0'))
  t.notOk(isBreaking('1.0.0', '1.9.0'))
  t.same(
    [targetTriple('linux', 'x64'), targetTriple('darwin', 'arm64'), targetTriple('linux', 'riscv64')],
    ['x86_64-unknown-linux-gnu', 'aarch64-apple-darwin', null]
  )
  t.end()
})
