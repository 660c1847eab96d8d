import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { checkContent, MAX_BYTES, splitFrontMatter } from '#root'
import { content, open } from './kit.ts'

const split = (text: string) => {
  const { lineOf: _, ...parts } = splitFrontMatter(text, 'a.md')
  return parts
}

t.test('a text is split at its front matter', async t => {
  t.strictSame(split('# Title\n'), { fields: null, body: '# Title\n', bodyLine: 1 })
  t.strictSame(split('---\na: 1\n---\n\nBody\n'), { fields: { a: 1 }, body: 'Body\n', bodyLine: 5 })
  t.strictSame(split('\ufeff---\r\na: 2026-01-01\r\n---\r\nBody'), {
    fields: { a: '2026-01-01' },
    body: 'Body',
    bodyLine: 4
  })
  t.strictSame(split('---\n---\n'), { fields: {}, body: '', bodyLine: 3 })
  t.strictSame(split('---\n# none\n---'), { fields: {}, body: '', bodyLine: 4 })
})

t.test('front matter that could cost much, or that is wrong, is refused with its line', async t => {
  const refused = (text: string, message: RegExp) =>
    t.throws(() => split(text), { code: 'PUB_FILE_INVALID', message }, text.slice(0, 60))
  const bomb = `a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]`
  refused(`---\n${bomb}\n---\n`, /^a.md:\d: (?:aliases|anchors) are not allowed/)
  refused(`---\na: !!js/function x\n---\n`, /^a.md:2: /)
  refused(`---\na: 1\na: 2\n---\n`, /^a.md:3: /)
  refused(`---\na: ${'['.repeat(10_000)}\n---\n`, /more than 50 nested levels/)
  refused(`---\na: ${'{b: '.repeat(100)}\n---\n`, /more than 50 nested levels/)
  refused(`---\n- a\n---\n`, /not a map of fields/)
  refused(`---\na: 1\n`, /no closing line/)
  refused(`---\na: ${'x'.repeat(70_000)}\n---\n`, /no closing line --- within 64 KiB/)
  for (const part of ['- ', '? ', '"" ', 'a: b\n', '#\n'])
    refused(`---\n${part.repeat(30_000 / part.length)}\n---\n`, /^a.md:\d+: /)
  const levels = (count: number) => `---\na: ${'['.repeat(count)}${']'.repeat(count)}\n---\n`
  t.match(split(levels(49)).fields, { a: [] }, 'the map and 49 lists are 50 levels')
  refused(levels(60), /more than 50 nested levels/)
})

t.test('arbitrary texts are split or refused with a typed error', async t => {
  const yaml = fc.array(
    fc.constantFrom('---', '- ', ': ', '[', ']', '{', '}', '&a ', '*a', '\n', '  ', '"', '!t ', '|', '%', 'a', '#'),
    { maxLength: 40 }
  )
  fc.assert(
    fc.property(
      fc.oneof(
        yaml.map(parts => parts.join('')),
        fc.string({ unit: 'binary' })
      ),
      text => {
        try {
          const { body } = split(`---\n${text}\n---\nBody`)
          return typeof body === 'string'
        } catch (error) {
          return (error as { code?: string }).code === 'PUB_FILE_INVALID'
        }
      }
    ),
    { numRuns: 200 }
  )
  t.pass()
})

t.test('an unknown field is refused with the field that was meant', async t => {
  const { kernel } = await open(t)
  const prepare = (text: string | Buffer) => {
    writeFileSync(join(kernel.root, 'a.md'), text)
    return kernel.callById('publication.prepare', { path: 'a.md' })
  }
  await t.rejects(prepare('---\nid: a\ntitel: A\n---\nBody'), {
    code: 'PUB_FILE_INVALID',
    message: /a.md:3: unknown field titel.*did you mean title/
  })
  await t.rejects(prepare('---\nid: a\nshoe_size: 5\n---\nBody'), { message: /other facts belong under metadata/ })
  await t.rejects(prepare('---\ntitle: A\n---\nBody'), {
    code: 'PUB_CONTENT_INVALID',
    message: /publication_id.*missing/
  })
  await t.rejects(prepare('---\nid: a\ntitle: [A]\n---\nBody'), {
    code: 'PUB_FILE_INVALID',
    message: /title.*not a text/
  })
  await t.rejects(prepare('---\nid: a\n\nversion: 1.10\n---\nBody'), {
    code: 'PUB_FILE_INVALID',
    message: /a.md:4: version.*not a text/,
    hint: /quotes: version/
  })
  await t.rejects(prepare('---\nid: a\nmetadata: { media: [] }\n---\nBody'), {
    code: 'PUB_CONTENT_INVALID',
    message: /media is set by svc/
  })
  await t.rejects(prepare('---\nid: a\ncitations: x\n---\nBody'), { message: /citations.*no list/ })
  await t.rejects(prepare('---\nid: a\nmetadata: { access_token: x }\n---\nBody'), {
    code: 'PUB_CONTENT_INVALID',
    message: /access_token/
  })
  await t.rejects(prepare(Buffer.from([0x61, 0xff])), { code: 'PUB_FILE_INVALID', message: /not UTF-8/ })
  t.match(await prepare('---\nid: a\nmetadata: { shoe_size: 5 }\nlicense: MIT\n---\nBody'), {
    metadata_json: '{"shoe_size":5,"license":"MIT"}'
  })
  truncateSync(join(kernel.root, 'a.md'), 5_000_000)
  await t.rejects(kernel.callById('publication.prepare', { path: 'a.md' }), { message: /5000000 bytes; the limit is/ })
  await t.rejects(kernel.callById('publication.prepare', { path: 'a.md', body: 'x' }), { code: 'PUB_OPTIONS_CONFLICT' })
  await t.rejects(kernel.callById('publication.prepare', { id: 'a' }), { message: /body_markdown.*missing/ })
})

t.test('ids, sizes, texts and names of credentials are checked', async t => {
  const invalid = (field: string, changes: Parameters<typeof content>[0]) =>
    t.throws(() => checkContent(content(changes)), { code: 'PUB_CONTENT_INVALID', at: { path: field } }, field)
  for (const publication_id of ['', '.a', 'a/b', 'a b', 'ä', 'x'.repeat(201)])
    invalid('publication_id', { publication_id })
  for (const content_type of ['', 'Article', '1a', 'x'.repeat(65)]) invalid('content_type', { content_type })
  invalid('title', { title: 'x'.repeat(1_001) })
  invalid('title', { title: '\ud800' })
  for (const [field, max] of Object.entries(MAX_BYTES)) {
    checkContent(content({ [field]: 'x'.repeat(max) }))
    invalid(field, { [field]: 'x'.repeat(max + 1) })
    invalid(field, { [field]: 'a\u0000' })
  }
  for (const key of ['password', 'apiKey', 'access_token', 'client-secret', 'Authorization'])
    invalid('metadata_json', { metadata_json: JSON.stringify({ a: [{ [key]: 'x' }] }) })
  invalid('metadata_json', { metadata_json: `${'['.repeat(100)}${']'.repeat(100)}` })
  checkContent(content({ metadata_json: '{"keywords":["token","password"],"key":"x"}' }))
})
