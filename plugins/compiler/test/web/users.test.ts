import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Page } from 'playwright-core'
import t from 'tap'
import { launched, noBrowser, opened } from './browsing.ts'
import { build, install, ROOT, typeCheck } from './building.ts'
import { serve, unbuilt } from './serving.ts'

t.setTimeout(300_000)

const SOURCE = readFileSync(join(ROOT, 'examples/language/private_notes.vox'), 'utf8')
const PASSWORD = 'correct horse battery'

t.test('the document and the client of a program with users', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE })
  const out = join(folder, 'web')
  t.equal((await build(join(folder, 'app.vox'), out, { scaffold: true })).code, 0)
  const document = JSON.parse(readFileSync(join(out, 'openapi.json'), 'utf8'))
  t.match(await new Validator().validate(document), { valid: true })
  t.match(document.paths['/api/auth/sign_up'].post.requestBody.content['application/json'].schema, {
    required: ['email', 'name', 'password'],
    additionalProperties: false
  })
  t.ok(document.paths['/api/auth/me'].get)
  const provider = { name: 'provider', in: 'path', required: true }
  for (const action of ['link', 'unlink']) {
    t.match(document.paths[`/api/auth/oauth/{provider}/${action}`].post, { parameters: [provider] })
  }
  for (const path of ['identities', 'sessions']) t.ok(document.paths[`/api/auth/${path}`].get.responses['401'])
  t.notOk(document.paths['/api/mutation/on_sign_up'])
  const client = readFileSync(join(out, 'vox-client.ts'), 'utf8')
  t.match(client, /signUp: \(fields: \{ readonly email: string; readonly name: string; readonly password: string;/)
  t.match(client, /me: \(\): Promise<User \| null>/)
  install(folder)
  t.equal(await typeCheck(out), '')
})

/** Fills in the fields of a form by their labels, and sends it. */
async function submit(page: Page, form: string, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.locator(form).getByLabel(label).fill(value)
  await page.locator(`${form} button`).click()
}

t.test('two users sign up, see their own rows, and sign out', { skip: noBrowser() || unbuilt() }, async t => {
  const folder = t.testdir({ 'app.vox': SOURCE, 'svc.toml': '' })
  const url = await serve(t, folder, '/sign-in')
  const browser = await launched(t)
  const users = []
  for (const name of ['Ann', 'Ben']) {
    const { page } = await opened(t, browser, name)
    await page.goto(url)
    await page.waitForURL(`${url}/sign-in?next=%2F`)
    await submit(page, 'form.up', { Name: name, Email: `${name}@example.org`, Password: PASSWORD })
    await page.waitForURL(`${url}/`)
    await page.getByText(`Welcome, ${name}`).waitFor()
    await submit(page, 'form.add', { Note: `a secret of ${name}` })
    await page.getByText(`a secret of ${name}`).waitFor()
    users.push({ name, page })
  }
  for (const { name, page } of users) {
    await page.reload()
    await page.getByText(`a secret of ${name}`).waitFor()
    t.strictSame(await page.locator('li').allTextContents(), [`a secret of ${name}`, `Welcome, ${name}`])
    await page.locator('form.out button').click()
    await page.waitForURL(`${url}/sign-in`)
    await page.goto(url)
    await page.waitForURL(`${url}/sign-in?next=%2F`)
    await submit(page, 'form.in', { Email: `${name}@example.org`, Password: 'a wrong password' })
    await page.waitForURL(/\/sign-in\?.*problem=/)
    await submit(page, 'form.in', { Email: `${name}@example.org`, Password: PASSWORD })
    await page.getByText(`a secret of ${name}`).waitFor()
  }
})
