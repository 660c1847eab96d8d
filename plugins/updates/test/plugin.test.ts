import { join } from 'node:path'
import { testPlugin } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import { updatesCheck, updatesIgnore, updatesInbox, updatesStatus } from '#root'
import { openReleases, releaseOf } from './releases.ts'
import { upgrade } from './upgrade.ts'

t.test('a new version is in the status and the inbox after a check, until the user ignores it', async t => {
  const server = await openReleases(t, [releaseOf('98.0.0'), releaseOf('99.0.0')])
  const home = join(t.testdir(), 'home')
  const settings = { github_api_url: server.url, repo: 'acme/svc', home, github_token: 'the-token' }
  const kernel = await testPlugin(plugin, { settings })
  t.teardown(() => kernel.close())
  t.match(await kernel.call(updatesStatus, {}), {
    update_available: false,
    checked_at: null,
    installed: [],
    program: null
  })
  t.same(await kernel.call(updatesInbox, {}), { items: [] })
  t.equal(server.requests.length, 0, 'nothing is sent unasked')
  const changes = kernel.changes('updates.state')
  const status = await kernel.call(updatesCheck, {})
  t.match(status, { update_available: true, available_version: '99.0.0', available_tag: 'v99.0.0', breaking: true })
  t.equal(kernel.changes('updates.state'), changes + 1)
  t.match(await kernel.call(updatesStatus, {}), status)
  const { items } = await kernel.call(updatesInbox, {})
  t.match(items, [{ id: 'v99.0.0', kind: 'signal', title: 'svc 99.0.0 is available', body: /--allow-breaking/ }])
  await kernel.call(updatesIgnore, { tag: 'v99.0.0' })
  t.same(await kernel.call(updatesInbox, {}), { items: [] })
  server.releases.push(releaseOf('99.1.0'))
  await kernel.call(updatesCheck, {})
  t.match((await kernel.call(updatesInbox, {})).items, [{ id: 'v99.1.0' }], 'a later version is shown again')
  t.notMatch(JSON.stringify([status, items, kernel.log]), 'the-token')
})

t.test('installed versions are listed, and the one in use is marked', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0')])
  const home = join(t.testdir(), 'home')
  await upgrade(home, { github_api_url: server.url }, { apply: true })
  const kernel = await testPlugin(plugin, { settings: { home } })
  t.teardown(() => kernel.close())
  t.match(await kernel.call(updatesStatus, {}), {
    program: join(home, 'bin', 'svc'),
    installed: [{ tag: 'v0.2.0', version: '0.2.0', asset: 'svc-v0.2.0.tgz', current: true }]
  })
})

t.test('a provider that cannot be reached is an error, and the last result stays', async t => {
  const server = await openReleases(t, [releaseOf('99.0.0')])
  const home = join(t.testdir(), 'home')
  const kernel = await testPlugin(plugin, { settings: { github_api_url: server.url, repo: 'acme/svc', home } })
  t.teardown(() => kernel.close())
  await kernel.call(updatesCheck, {})
  server.intercept = (request, response) => {
    request.socket.destroy()
    return response.destroyed
  }
  await t.rejects(kernel.call(updatesCheck, {}), { code: 'UPD_DOWNLOAD_FAILED' })
  t.match(await kernel.call(updatesStatus, {}), { available_version: '99.0.0' })
})

t.test('a version that was ignored before the first check stays ignored', async t => {
  const server = await openReleases(t, [releaseOf('99.0.0')])
  const home = join(t.testdir(), 'home')
  const kernel = await testPlugin(plugin, { settings: { github_api_url: server.url, repo: 'acme/svc', home } })
  t.teardown(() => kernel.close())
  await kernel.call(updatesIgnore, { tag: 'v99.0.0' })
  await kernel.call(updatesCheck, {})
  t.same(await kernel.call(updatesInbox, {}), { items: [] })
  server.releases.push(releaseOf('99.0.1'))
  await kernel.call(updatesCheck, {})
  t.match(await kernel.call(updatesInbox, {}), { items: [{ id: 'v99.0.1' }] })
})
