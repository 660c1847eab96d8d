import { type BrowserAutomation, browserAutomation, type KernelAdmin } from '@svc/contracts'
import { type Ref, SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { provided } from '#threads'

/** Reference to a service that is available once `value` is set. */
class Later implements Ref<BrowserAutomation> {
  value: BrowserAutomation | null = null

  get available(): BrowserAutomation | undefined {
    return this.value ?? undefined
  }

  get current(): BrowserAutomation {
    if (this.value === null) throw new SvcError('KRN_SERVICE_GONE', 'nothing provides it')
    return this.value
  }
}

const browser = {} as BrowserAutomation

function adminOf(plugins: Readonly<Record<string, readonly string[]>>, activate: (name: string) => void): KernelAdmin {
  const admin: Partial<KernelAdmin> = {
    plugins: () => Object.keys(plugins).map(name => ({ name })) as never,
    manifest: name => ({ provides: plugins[name] }) as never,
    apply: async change => void change.activate?.forEach(activate) as never,
    why: name => [`${name} is disabled`, 'by a setting']
  }
  return admin as KernelAdmin
}

t.test('an available service is returned', async t => {
  const reference = new Later()
  reference.value = browser
  t.equal(await provided('Browser', browserAutomation, reference, undefined)(), browser)
})

t.test('the plugin of a missing service is activated at the first use', async t => {
  const reference = new Later()
  const activated: string[] = []
  const admin = adminOf({ one: ['one@1'], chrome: ['browser.automation@1'] }, name => {
    activated.push(name)
    reference.value = browser
  })
  const find = provided('Browser', browserAutomation, reference, admin)
  t.same(activated, [])
  t.equal(await find(), browser)
  t.equal(await find(), browser)
  t.same(activated, ['chrome'])
})

t.test('a service that cannot be activated is reported with a remedy', async t => {
  const off = adminOf({ chrome: ['browser.automation@1'] }, () => undefined)
  await t.rejects(provided('Browser', browserAutomation, new Later(), off)(), {
    code: 'RUN_UNSUPPORTED',
    message: 'Browser cannot be used, since chrome is disabled; set "enabled = true" in [plugins.chrome] of svc.toml'
  })
  for (const admin of [undefined, adminOf({}, () => undefined)]) {
    await t.rejects(provided('Browser', browserAutomation, undefined, admin)(), {
      code: 'RUN_UNSUPPORTED',
      message: /browser\.automation@1, such as @svc\/plugin-browser/
    })
  }
})
