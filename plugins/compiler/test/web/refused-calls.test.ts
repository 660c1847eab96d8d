import t from 'tap'
import { launched, noBrowser, opened } from './browsing.ts'
import { serve, unbuilt } from './serving.ts'

const program = `
type Problem =
    | BadRequest(reason: str)
    | TooShort(least: int)

@mutation
fn rename(name: str) to Result[int, Problem] {
    if name is "" { return Error(BadRequest("a name is required")) }
    if name is "?" { panic("no such name") }
    if len(name) < 3 { return Error(TooShort(3)) }
    Ok(len(name))
}

component Form() {
    state name: str = ""
    state shown: str = ""
    view:
        <form on:submit={
            match rename(name) {
                Ok(length) => { shown = "renamed: " + str(length) }
                Error(BadRequest(reason)) => { shown = "refused: " + reason }
                Error(TooShort(least)) => { shown = "at least " + str(least) }
            }
        }>
            <input bind={name} aria-label="Name" />
            <button type="submit">"Rename"</button>
            <p>{shown}</p>
        </form>
}

routes { "/" to Form }
`

t.test(
  'a page gets the Error that a function of the server returned, and no other failure as one',
  { skip: noBrowser() || unbuilt(), timeout: 240_000 },
  async t => {
    const folder = t.testdir({ 'svc.toml': '', 'app.vox': program })
    const url = await serve(t, folder, '/')
    const { page } = await opened(t, await launched(t), 'refused-calls')
    const failures: string[] = []
    page.on('pageerror', error => failures.push(error.name))
    await page.goto(url)
    const expectations = [
      ['', 'refused: a name is required'],
      ['ab', 'at least 3'],
      ['Ada', 'renamed: 3']
    ] as const
    for (const [name, shown] of expectations) {
      await page.fill('[aria-label="Name"]', name)
      await page.click('text=Rename')
      await page.waitForSelector(`p >> text=${shown}`)
    }
    await page.fill('[aria-label="Name"]', '?')
    const failure = page.waitForEvent('pageerror')
    await page.click('text=Rename')
    await failure
    t.equal(await page.textContent('p'), 'renamed: 3', 'a failure of the server ends the handler')
    t.same(failures, ['ApiError'])
  }
)
