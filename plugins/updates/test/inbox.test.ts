import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { recordFailure, stampOf, updatesCheck, updatesDismiss, updatesInbox } from '#root'
import { openReleases, type ReleaseServer, releaseOf } from './releases.ts'
import { upgrade } from './upgrade.ts'

async function open(t: Test, server: Pick<ReleaseServer, 'url'>) {
  const home = join(t.testdir(), 'home')
  const kernel = await testPlugin(plugin, { settings: { github_api_url: server.url, repo: 'acme/svc', home } })
  t.teardown(() => kernel.close())
  const items = async () => (await kernel.call(updatesInbox, {})).items
  return { home, kernel, items, failures: async () => (await items()).filter(({ kind }) => kind === 'failure') }
}

t.test('an installation that failed is in the inbox until one succeeds', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0')])
  const { home, failures } = await open(t, server)
  const settings = { github_api_url: server.url }
  server.intercept = (request, response) => {
    if (!String(request.url).endsWith('.tgz')) return false
    response.writeHead(500).end('<b>no</b>')
    return true
  }
  await t.rejects(upgrade(home, settings, { apply: true }))
  const [item, ...others] = await failures()
  t.same(others, [])
  t.match(item, { id: 'failed install', title: 'A new version could not be installed', body: /\S/ })
  server.intercept = () => false
  await upgrade(home, settings, { apply: true })
  t.same(await failures(), [])
})

t.test('a failure is dismissed, and a refusal or a report is none', async t => {
  const server = await openReleases(t, [releaseOf('99.0.0')])
  const { home, kernel, failures } = await open(t, server)
  await t.rejects(upgrade(home, { github_api_url: server.url }, { apply: true }), { code: 'UPD_BREAKING' })
  await t.rejects(upgrade(home, {}, { rollback: true }), { code: 'UPD_NO_PREVIOUS' })
  await t.rejects(upgrade(home, { github_api_url: 'http://127.0.0.1:9' }), { code: 'UPD_DOWNLOAD_FAILED' })
  t.same(await failures(), [])
  await recordFailure(home, 'rollback', new Error('the disk is full'))
  t.match(await failures(), [{ body: 'the disk is full.', answers: [{ operation: 'updates.dismiss' }] }])
  const changes = kernel.changes('updates.state')
  t.same(await kernel.call(updatesDismiss, {}), { dismissed: true })
  t.equal(kernel.changes('updates.state'), changes + 1)
  t.same(await kernel.call(updatesDismiss, {}), { dismissed: false })
  t.same(await failures(), [])
})

t.test('a check that failed in the background is in the inbox until a check succeeds', async t => {
  const server = await openReleases(t, [releaseOf('0.1.0')])
  const { home, kernel, failures } = await open(t, server)
  await recordFailure(home, 'check', new Error('no network'))
  t.match(await failures(), [{ id: 'failed check', answers: [{ operation: 'updates.check' }, {}] }])
  await kernel.call(updatesCheck, {})
  t.same(await failures(), [])
})

t.test('a version that is installed waits for a restart, not for an installation', async t => {
  const server = await openReleases(t, [releaseOf('0.9.0')])
  const { home, kernel, items } = await open(t, server)
  await kernel.call(updatesCheck, {})
  t.match(await items(), [{ id: 'v0.9.0', title: 'svc 0.9.0 is available' }])
  await upgrade(home, { github_api_url: server.url }, { apply: true })
  t.match(await items(), [{ id: 'installed v0.9.0', title: 'svc 0.9.0 is installed', body: /Restart it/ }])
})

t.test('changes of other processes are noticed by the files of the folder', async t => {
  const home = join(t.testdir(), 'home')
  const none = await stampOf(home)
  await recordFailure(home, 'install', new Error('no'))
  const failed = await stampOf(home)
  t.not(failed, none)
  t.equal(await stampOf(home), failed)
  rmSync(join(home, 'last-failure.json'))
  t.not(await stampOf(home), failed)
})
