import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { launched, noBrowser, opened } from './browsing.ts'
import { build, install, typeCheck } from './building.ts'
import { serve, unbuilt } from './serving.ts'

t.setTimeout(300_000)

const SOURCE = `
@table type Photo { title: str, number: int, image: File, note: Option[File] }

type Shown { text: str, number: int, image: str, note: str, pages: int }

@mutation
fn add(title: str, number: int, rank: Option[int], image: File, note: Option[File], pages: List[File]) to Result[int] {
    if title is "refused" { return Error("this title is not welcome") }
    let rest = pages.map(fn(page) page.name).join("+")
    let label = title + " " + str(rank.unwrap_or(0)) + " " + rest
    Ok(db.Photo.insert({ title: label, number: number, image: image, note: note }))
}

@query
fn photos() to List[Shown] {
    db.Photo.all().map(fn(photo) Shown {
        text: photo.title,
        number: photo.number,
        image: photo.image.name + " " + str(photo.image.size),
        note: match photo.note { Some(note) => note.name None => "no note" },
        pages: 0
    })
}

@form Upload {
    field title: str required label("Title")
    field number: int required label("Number")
    field rank: Option[int] label("Rank")
    field image: File accept("image/png,text/plain") max_bytes(100) label("Image")
    field note: Option[File] label("Note")
    field pages: List[File] label("Pages")
    on_submit: add
}

component Home() { view: <main><Upload /></main> }
routes { "/" to Home }
`

t.test('a form with files passes the type check', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE })
  const out = join(folder, 'web')
  const built = await build(join(folder, 'app.vox'), out, { scaffold: true })
  t.equal(built.code, 0, built.err)
  install(folder)
  t.equal(await typeCheck(out), '')
})

const file = (name: string, mimeType: string, size: number) => ({ name, mimeType, buffer: Buffer.alloc(size, 'x') })

async function send(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value)
  await page.getByRole('button', { name: 'Submit' }).click()
}

t.test('a browser sends a form with files and large ints', { skip: noBrowser() || unbuilt() }, async t => {
  const settings = '[plugins.app-runtime.files]\nmax_bytes = 1000\ntypes = ["image/*", "text/plain"]\n'
  const url = await serve(t, t.testdir({ 'app.vox': SOURCE, 'svc.toml': settings }), '/')
  const { page } = await opened(t, await launched(t), 'form')
  const photos = async (): Promise<string> => (await fetch(`${url}/api/query/photos`)).text()
  const problem = (text: string | RegExp): Promise<void> => page.getByRole('alert').getByText(text).waitFor()
  await page.goto(url)
  t.equal(await page.getByLabel('Image').getAttribute('accept'), 'image/png,text/plain')

  await send(page, { Title: 'first', Number: '9007199254740993' })
  t.equal(await photos(), '[]', 'the browser asks for the image')
  await page.getByLabel('Image').setInputFiles(file('a.png', 'image/png', 101))
  await page.getByRole('button', { name: 'Submit' }).click()
  await problem('Image: a file has at most 100 bytes')
  await page.getByLabel('Image').setInputFiles(file('a.zip', 'application/zip', 10))
  await page.getByRole('button', { name: 'Submit' }).click()
  await problem(/files of the type application\/zip are not accepted/)
  await page.getByLabel('Image').setInputFiles(file('a.png', 'image/png', 100))
  await page.getByLabel('Pages').setInputFiles([file('1.txt', 'text/plain', 1), file('2.txt', 'text/plain', 1001)])
  await page.getByRole('button', { name: 'Submit' }).click()
  await problem(/the file is larger than 1000 bytes/)
  t.equal(await photos(), '[]')

  await page.getByLabel('Pages').setInputFiles([file('1.txt', 'text/plain', 1), file('2.txt', 'text/plain', 2)])
  await page.getByRole('button', { name: 'Submit' }).click()
  while ((await photos()) === '[]') await page.waitForTimeout(20)
  t.equal(
    await photos(),
    '[{"text":"first 0 1.txt+2.txt","number":9007199254740993,"image":"a.png 100","note":"no note","pages":0}]'
  )
  while ((await page.locator('input[name=title]').inputValue()) !== '') await page.waitForTimeout(20)

  await page.getByLabel('Image').setInputFiles(file('b.png', 'image/png', 3))
  await page.getByLabel('Note').setInputFiles(file('note.txt', 'text/plain', 4))
  await send(page, { Title: 'refused', Number: '-5', Rank: '9223372036854775807' })
  await problem('this title is not welcome')
  await send(page, { Title: 'second' })
  while (!(await photos()).includes('second')) await page.waitForTimeout(20)
  t.match(
    await photos(),
    '{"text":"second 9223372036854775807 ","number":-5,"image":"b.png 3","note":"note.txt","pages":0}'
  )
})
