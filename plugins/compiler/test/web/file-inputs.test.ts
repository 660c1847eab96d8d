import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { build, install, typeCheck } from './building.ts'

const ALBUM = `
@table
type Picture { name: str, content: File }

@mutation
fn add(cover: Option[File], pictures: List[File]) to int {
    for picture in pictures { db.Picture.insert({ name: picture.name, content: picture }) }
    len(pictures)
}

component Album() {
    state cover: Option[File] = None
    state pictures: List[File] = []

    view:
        <form on:submit={
            add(cover, pictures)
            pictures = []
        }>
            <input type="file" bind={cover} />
            <input type="file" multiple={true} bind={pictures} />
            {for picture in pictures { <p>{picture.name}{picture.content_type}{picture.size}</p> }}
            <button type="submit">"Add"</button>
        </form>
}
routes { "/" to Album }
`

t.test('inputs for files that are bound to states type-check in strict mode, and send what was picked', async t => {
  const folder = t.testdir({ 'app.vox': ALBUM })
  const out = join(folder, 'web')
  const ran = await build(join(folder, 'app.vox'), out, { scaffold: true })
  t.equal(ran.code, 0, ran.err)
  const page = readFileSync(join(out, 'Album.tsx'), 'utf8')
  t.match(page, 'onChange={event => set_cover(picked_file(event.target))}')
  t.match(page, 'ref={input => empty_input(input, pictures)}')
  t.match(page, 'await add(cover, pictures)')
  install(out)
  t.equal(await typeCheck(out), '')
})
