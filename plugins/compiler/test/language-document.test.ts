import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFile, formatFile, SourceFile } from '#root'

const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'language.md'), 'utf8')
const programs = [...text.matchAll(/^```vox\n([\s\S]*?)^```$/gm)].map(match => match[1] as string)
const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }

t.test('every program in the language document is valid and can be formatted', async t => {
  t.ok(programs.length >= 10)
  for (const [index, source] of programs.entries()) {
    const file = new SourceFile(`program-${index + 1}.vox`, source)
    t.same(
      checkFile(file, options).diagnostics.map(({ code, message }) => `${code}: ${message}`),
      [],
      source
    )
    t.type(formatFile(file).text, 'string')
  }
})
