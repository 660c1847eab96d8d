import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import t from 'tap'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { launched, noBrowser, opened } from '../../../compiler/test/web/browsing.ts'
import { clientOf, NOTES, PASSWORD, signUp } from '../auth/users-app.ts'

t.setTimeout(300_000)

const SOURCE = `${NOTES}
@query @auth fn own() to List[str] { db.Note.all().live("notes").map(fn(note) { note.body }) }
@query @auth(optional: true) fn visitor() to str {
    let notes = db.Note.all().live("notes").count()
    match request.user { Some(user) => "user " + user.id + " of " + str(notes)  None => "anonymous" }
}
`

const PAGE = `<!doctype html><title>page</title><pre id="own"></pre><pre id="visitor"></pre><script type="module">
import { auth, own, visitor } from './client.js'
globalThis.auth = auth
const show = id => text => document.getElementById(id).append(JSON.stringify(text) + '\\n')
own.live({}, show('own'), error => show('own')(error.status))
visitor.live({}, show('visitor'), error => show('visitor')(error.status))
</script>`

t.test('the live queries of an open page follow its sign-ins and sign-outs', { skip: noBrowser() }, async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE, 'public/index.html': PAGE })
  const app = await serveInProcess(t, SOURCE, { folder })
  const source = await (await fetch(`${app.url}/api/client.ts`)).text()
  writeFileSync(join(folder, 'public', 'client.js'), (await transform(source, { loader: 'ts' })).code)
  const { page } = await opened(t, await launched(t), 'page')
  await page.goto(app.url)
  /** Waits until the last shown value of a query is as expected. */
  const last = async (id: string, expected: unknown): Promise<void> => {
    const text = JSON.stringify(expected)
    const shown = async (): Promise<string | undefined> =>
      (await page.locator(`#${id}`).textContent())?.trim().split('\n').at(-1)
    while ((await shown()) !== text) await page.waitForTimeout(20)
    t.pass(`${id}: ${text}`)
  }
  const run = (action: string, fields?: object): Promise<unknown> =>
    page.evaluate(([name, given]) => (globalThis as unknown as { auth: any }).auth[String(name)](given), [
      action,
      fields
    ] as const)
  await last('own', 401)
  await last('visitor', 'anonymous')

  await run('signUp', { email: 'ann@example.org', name: 'ann', password: PASSWORD })
  await last('own', ['welcome ann'])
  await last('visitor', 'user 1 of 1')
  const elsewhere = clientOf(app)
  await elsewhere.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
  await elsewhere.post('/api/mutation/add_note', { body: 'from elsewhere' })
  await last('own', ['welcome ann', 'from elsewhere'])

  await run('signOut')
  await last('own', 401)
  await last('visitor', 'anonymous')

  await signUp(app, 'ben')
  await run('signIn', { email: 'ben@example.org', password: PASSWORD })
  await last('own', ['welcome ben'])
  await run('signIn', { email: 'ann@example.org', password: PASSWORD })
  await last('own', ['welcome ann', 'from elsewhere'])

  await elsewhere.post('/api/auth/password', { current: PASSWORD, password: `${PASSWORD} 2` })
  await last('own', 401)
  await run('signIn', { email: 'ann@example.org', password: `${PASSWORD} 2` })
  await last('own', ['welcome ann', 'from elsewhere'])
  await run('changePassword', { current: `${PASSWORD} 2`, password: PASSWORD })
  await last('own', ['welcome ann', 'from elsewhere'])
  await elsewhere.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
  await elsewhere.post('/api/mutation/add_note', { body: 'third' })
  await last('own', ['welcome ann', 'from elsewhere', 'third'])
})
