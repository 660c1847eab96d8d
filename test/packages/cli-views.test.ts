import type { CliView, JsonSchema } from '@svc/plugin-sdk'
import t from 'tap'
import { ownManifests } from '../../tools/docs.ts'

const views = (await ownManifests())
  .flatMap(({ operations }) => operations)
  .flatMap(({ id, output, expose }) => (expose.cli?.view === undefined ? [] : [{ id, output, view: expose.cli.view }]))

t.test('every command-line view shows existing fields of its operation', t => {
  t.ok(views.length > 50, `${views.length} views`)
  for (const { id, output, view } of views) {
    const properties = Object.keys((output.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    const { text, markdown, rows, note, answer, success, fields = [] }: CliView = view
    if (output.additionalProperties !== true && output.properties !== undefined)
      for (const field of fields) t.ok(properties.includes(field.split('.', 1)[0] as string), `${id}: ${field}`)
    for (const field of [text, markdown, rows, note, answer, success])
      if (field !== undefined && output.additionalProperties !== true)
        t.ok(properties.includes(field), `${id}: ${field}`)
  }
  t.end()
})

t.test('no command-line view prints raw Markdown', t => {
  for (const { id, view } of views)
    for (const field of [view.text, view.note, view.answer]) t.notMatch(field ?? '', /_md$|markdown/, id)
  t.end()
})
