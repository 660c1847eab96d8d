import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { itemText } from './kit.ts'

const SVC = join(import.meta.dirname, '../../../kernel/bin/svc.cjs')
const ITEM = itemText({
  id: 'first',
  more: 'syndication: { reddit: { subreddit: programming }, forge: { repository: acme/tool, target: issue } }'
})

t.test('commands find credentials that were stored, and apply strict profiles', async t => {
  const root = t.testdir({ 'svc.toml': '', token: 'known-forge-token', home: {}, docs: { news: { 'first.md': ITEM } } })
  const home = join(root, 'home')
  const names = ['CLIENT_ID', 'CLIENT_SECRET', 'REFRESH_TOKEN', 'USER_AGENT'].map(name => `SVC_SOCIAL_REDDIT_${name}`)
  const env = {
    ...process.env,
    ...Object.fromEntries(names.map(name => [name, 'from-the-environment'])),
    ...{ HOME: home, USERPROFILE: home, XDG_STATE_HOME: home, SVC_SECRETS_PROFILE: 'ci' }
  }
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [SVC, ...args, '--json'], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let [out, errors] = ['', '']
    child.stdout.on('data', data => {
      out += data
    })
    child.stderr.on('data', data => {
      errors += data
    })
    const [code] = await once(child, 'close')
    t.equal(code, 0, errors)
    return out
  }
  await run('secrets', 'set', 'SVC_NEWS_FORGE_TOKEN', '--store', 'auth', '--file', 'token')
  const { channels } = JSON.parse(await run('news', 'preview', 'first'))
  const problemOf = (name: string) => channels.find(({ channel }: { channel: string }) => channel === name)?.problem
  t.equal(problemOf('forge'), null)
  t.match(JSON.stringify(problemOf('reddit')), /SVC_SOCIAL_REDDIT_CLIENT_ID is set, but the profile ci wants a backend/)
})
