import type { Page } from 'playwright-core'
import t from 'tap'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { launched, noBrowser, opened } from '../../../compiler/test/web/browsing.ts'
import { clientOf, NOTES, PASSWORD, signUp } from '../auth/users-app.ts'

t.setTimeout(300_000)

const SOURCE = `${NOTES}
@query @auth fn own() to List[str] { db.Note.all().order_by("_id").live("notes").map(fn(note) { note.body }) }
@query @auth fn newest() to str { db.Note.all().order_by("_id").live("notes").map(fn(note) { note.body }).last().unwrap_or("none") }
@query @auth fn name() to str { request.account.name }

@auth(redirect: "/welcome")
component Guarded(notes: List[str]) {
    view: <ul>{for note in notes { <li>{note}</li> }}</ul>
}
component Plain(notes: List[str]) {
    view: <ul>{for note in notes { <li>{note}</li> }}</ul>
}
component Called() {
    view: <p>"[" {newest()} "] [" {name()} "]"</p>
}
component Refused(message: str) { view: <p class="refused">{message}</p> }
component Welcome() {
    view: <form method="post" action="/api/auth/sign_out">
        <input type="hidden" name="next" value="/welcome" />
        <button type="submit">"Sign out"</button>
    </form>
}

routes {
    "/guarded" to Guarded with (loader: own)
    "/plain" to Plain with (loader: own, error: Refused)
    "/called" to Called
    "/welcome" to Welcome
}
`

t.test('a sign-out in one tab ends what the other tabs show of the user', { skip: noBrowser() }, async t => {
  const app = await serveInProcess(t, SOURCE, { plugins: ['web'] })
  const { page: first } = await opened(t, await launched(t), 'tabs')
  const browser = first.context()
  const signIn = async (): Promise<void> => {
    const fields = { email: 'ann@example.org', password: PASSWORD }
    const headers = { origin: app.url }
    t.equal((await browser.request.post(`${app.url}/api/auth/sign_in`, { data: fields, headers })).status(), 200)
  }
  const open = async (path: string): Promise<Page> => {
    const page = await browser.newPage()
    await page.goto(app.url + path)
    return page
  }
  const signOut = async (): Promise<void> => {
    await first.goto(`${app.url}/welcome`)
    await first.getByRole('button').click()
    await first.waitForURL(`${app.url}/welcome`)
  }
  await signUp(app, 'ann')
  await signIn()
  const [guarded, plain, called] = [await open('/guarded'), await open('/plain'), await open('/called')]
  for (const page of [guarded, plain, called]) await page.getByText('welcome ann').waitFor()
  await called.getByText('[ann]').waitFor()
  // The value of the websocket, not only that of the loader.
  const elsewhere = clientOf(app)
  await elsewhere.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
  await elsewhere.post('/api/mutation/add_note', { body: 'secret' })
  for (const page of [guarded, plain, called]) await page.getByText('secret').waitFor()

  await signOut()
  await guarded.waitForURL(`${app.url}/welcome?next=%2Fguarded`)
  await plain.locator('.refused').waitFor()
  await called.getByText('[] []').waitFor()
  for (const page of [guarded, plain, called]) t.notMatch(await page.content(), /secret|welcome ann|\[ann\]/)

  await signIn()
  await guarded.goto(`${app.url}/guarded`)
  await guarded.getByText('secret').waitFor()
  await elsewhere.post('/api/mutation/add_note', { body: 'after' })
  await guarded.getByText('after').waitFor()
})
