import { createHash } from 'node:crypto'
import { type DashboardPage, dashboardPages, type HttpExchange, type UnitView } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import tap from 'tap'
import { ModuleFiles } from '#root'
import { openWorld } from './world.ts'

const PAGE: DashboardPage = {
  path: 'shop/chat',
  title: 'Chat',
  section: 'run',
  view: { kind: 'module', entry: 'chat', uses: [] }
}

/** Module files of a plugin `shop` with one module, whose text can be replaced. */
function files(isIsolated = false) {
  let text = ''
  let now = 0
  const hashOf = (each: string): string => createHash('sha256').update(each).digest('hex')
  const load = async () => ({ text, hash: hashOf(text) })
  const unit = { name: 'shop', pages: new Map([['chat', { name: 'chat', load }]]) } as unknown as UnitView
  const units = new Map([['shop', unit]])
  const modules = new ModuleFiles({
    kernel: { current: { units } } as never,
    entries: () => ({
      generation: 1,
      pages: [{ item: PAGE, unit }],
      cards: [],
      actions: [],
      inbox: [],
      search: [],
      broken: []
    }),
    isIsolated: () => isIsolated,
    now: () => now
  })
  const send = async (method: 'sendScript' | 'sendFrame', params: Readonly<Record<string, string>>) => {
    const sent: { body?: string; headers?: Readonly<Record<string, string>> } = {}
    const exchange = {
      params,
      response: { removeHeader: () => {} },
      send: (_status: number, _type: string, body: string, headers: Readonly<Record<string, string>>) => {
        Object.assign(sent, { body, headers })
      }
    }
    await modules[method](exchange as unknown as HttpExchange)
    return sent
  }
  return {
    modules,
    script: async (of: string, plugin = 'shop', file = 'chat.js') =>
      (await send('sendScript', { plugin, hash: hashOf(of), file })).body,
    frame: (of: string) => send('sendFrame', { plugin: 'shop', hash: hashOf(of), file: 'chat' }),
    write: (next: string) => {
      text = next
    },
    wait: (milliseconds: number) => {
      now += milliseconds
    },
    hashOf
  }
}

const version = (number: number): string => `const n=${number};export{n as mount};\n`

tap.test('the current version of a module is served, and the previous one for 60 seconds', async t => {
  const { modules, script, write, wait, hashOf } = files()
  write(version(1))
  const { sources } = await modules.sources()
  t.same(sources.get('shop/chat'), { kind: 'script', url: `/ui/ext/shop/${hashOf(version(1))}/chat.js` })
  write(version(2))
  await modules.sources()
  t.equal(await script(version(2)), version(2))
  t.equal(await script(version(1)), version(1))
  wait(60_001)
  await t.rejects(script(version(1)), { code: 'DSH_FILE_UNKNOWN' })
  t.equal(await script(version(2)), version(2))
})

tap.test('other versions, files and plugins are not served', async t => {
  const { script, write } = files()
  write(version(1))
  await t.rejects(script(version(9)), { code: 'DSH_FILE_UNKNOWN' })
  await t.rejects(script(version(1), 'shop', 'other.js'), { code: 'DSH_FILE_UNKNOWN' })
  await t.rejects(script(version(1), 'shop', 'chat'), { code: 'DSH_FILE_UNKNOWN' })
  await t.rejects(script(version(1), 'store'), { code: 'DSH_FILE_UNKNOWN' })
})

tap.test('a frame runs the module inline, and its policy allows only these scripts', async t => {
  const { modules, frame, write, hashOf } = files(true)
  const module =
    'const a="</script><!--";export{a as other,a as mount};\n//# sourceMappingURL=data:application/json,x\n'
  write(module)
  const { sources } = await modules.sources()
  t.same(sources.get('shop/chat'), { kind: 'frame', url: `/ui/frame/shop/${hashOf(module)}/chat` })
  const { body = '', headers = {} } = await frame(module)
  const scripts = [...body.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, text]) => text as string)
  t.equal(scripts.length, 2)
  t.equal(scripts[1], 'const a="\\x3C/script>\\x3C!--";;svcFrame(a)')
  const hashes = scripts.map(text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  t.match(headers['content-security-policy'], `script-src ${hashes.join(' ')}; sandbox allow-scripts`)
  t.notMatch(headers['content-security-policy'], /unsafe|'self'.*script/)
})

tap.test('the module of an isolated plugin is not a script of the page, in any version', async t => {
  const { modules, script, write } = files(true)
  write(version(1))
  await modules.sources()
  write(version(2))
  await modules.sources()
  await t.rejects(script(version(1)), { code: 'DSH_FILE_UNKNOWN' })
  await t.rejects(script(version(2)), { code: 'DSH_FILE_UNKNOWN' })
})

tap.test('frames are only for isolated plugins', async t => {
  const { frame, write } = files(false)
  write(version(1))
  await t.rejects(frame(version(1)), { code: 'DSH_FILE_UNKNOWN' })
})

tap.test('a module without mount is a broken page', async t => {
  const { modules, write } = files(true)
  write('const a=1;export{a as start};')
  t.match(await modules.sources(), { broken: [{ entry: 'shop/chat', reason: /no function mount/ }] })
})

tap.test('a page with a module that its package lacks is broken', async t => {
  const shop = definePlugin({ name: 'shop', activate: ctx => ctx.contribute(dashboardPages, PAGE) }) as Plugin
  const world = await openWorld({ plugins: [shop] })
  t.teardown(() => world.close())
  const owner = await world.signIn()
  t.match(await (await owner.get('/ui/api/console')).json(), { broken: [{ entry: 'shop/chat', reason: /svc\.pages/ }] })
})
