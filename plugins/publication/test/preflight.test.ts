import { PREFLIGHT_PROFILES } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { preflight, readiness } from '#root'
import { content } from './kit.ts'

type Content = Parameters<typeof content>[0]

const codes = (changes: Content, profile: (typeof PREFLIGHT_PROFILES)[number]) =>
  preflight(content(changes), profile).findings.map(({ code, severity }) => `${severity} ${code}`)

const finds = (t: Test, profile: (typeof PREFLIGHT_PROFILES)[number], finding: string, changes: Content) => {
  t.ok(codes(changes, profile).includes(finding), `${finding}: ${codes(changes, profile)}`)
  t.notOk(codes({}, profile).includes(finding), `${finding} is not found in a good text`)
}

const metadata = (value: object) => ({ metadata_json: JSON.stringify(value) })
const COMPLETE = metadata({
  license: 'CC-BY-4.0',
  keywords: ['gates'],
  language: 'en',
  publication_date: '2026-02-28',
  doi: '10.1234/abc',
  creators: [{ name: 'Example, Ann', affiliation: 'University of Gates', orcid: '0000-0002-1825-0097' }]
})

t.test('the default profile finds empty fields and texts that are no JSON', async t => {
  finds(t, 'default', 'error title_empty', { title: ' ' })
  finds(t, 'default', 'warning title_long', { title: 'x'.repeat(301) })
  finds(t, 'default', 'error author_empty', { author: '' })
  finds(t, 'default', 'error body_empty', { body_markdown: '\n' })
  finds(t, 'default', 'info abstract_missing', { abstract_text: null })
  for (const text of ['{', '{}', '[1]', '["{}"]'])
    finds(t, 'default', 'error citations_json_invalid', { citations_json: text })
  for (const text of ['[', '[]', '"{}"', 'null'])
    finds(t, 'default', 'error metadata_json_invalid', { metadata_json: text })
  finds(
    t,
    'default',
    'error creators_too_many',
    metadata({ creators: Array.from({ length: 501 }, () => ({ name: 'x' })) })
  )
})

t.test('metadata_complete requires an abstract and a license, and checks identifiers', async t => {
  const profile = 'metadata_complete'
  t.strictSame(codes({ ...COMPLETE, citations_json: '[{"id":"k","title":"Gates"}]' }, profile), [])
  t.strictSame(codes({ ...COMPLETE, abstract_text: null }, profile), [
    'info abstract_missing',
    'error abstract_required',
    'info citations_missing'
  ])
  t.ok(codes({}, profile).includes('error license_required'))
  t.ok(codes(metadata({ license: 'my own' }), profile).includes('error license_invalid'))
  t.ok(codes(metadata({ doi: 'doi.org/10.1' }), profile).includes('error doi_invalid'))
  t.ok(codes(metadata({ language: 'english?' }), profile).includes('error language_invalid'))
  for (const publication_date of ['2026-02-30', '28.2.2026', 5])
    t.ok(
      codes(metadata({ publication_date }), profile).includes('error publication_date_invalid'),
      String(publication_date)
    )
  for (const orcid of ['0000-0002-1825-0098', '1825', 7])
    t.ok(codes(metadata({ creators: [{ name: 'A', orcid }] }), profile).includes('error orcid_invalid'), String(orcid))
  t.ok(codes(metadata({ creators: [{}] }), profile).includes('error creators_invalid'))
  t.ok(codes(metadata({ creators: 'Ann' }), profile).includes('error creators_invalid'))
  t.ok(codes({ citations_json: '[{"id":"k"}]' }, profile).includes('warning citation_incomplete'))
})

t.test('double_blind finds what shows who the authors are', async t => {
  const body = (text: string) => ({ ...COMPLETE, body_markdown: `# Gates\n\n${text}\n` })
  const blind = 'double_blind'
  const good = body('They are open or closed [1]. The example of the university of gate keepers helps.')
  t.strictSame(codes(good, blind), [])
  const leak = (text: string, code: string) =>
    t.ok(codes(body(text), blind).includes(code), `${text}: ${codes(body(text), blind)}`)
  leak('by ANN  Example', 'error double_blind_author_name')
  leak('(Example, Ann)', 'error double_blind_author_name')
  leak('A. Example', 'error double_blind_author_name')
  leak('as Example showed', 'warning double_blind_author_surname')
  leak('at the University of Gates', 'error double_blind_affiliation')
  leak('write to ann.b@mail.example.org', 'error double_blind_email')
  leak('0000-0002-1825-0097', 'error double_blind_orcid')
  leak('see https://orcid.org/x', 'error double_blind_orcid')
  leak('https://github.com/example/gates', 'error double_blind_repository_url')
  leak('https://github.com/other/gates', 'warning double_blind_repository_url')
  leak('## Acknowledgements', 'error double_blind_acknowledgements')
  leak('We would like to thank all.', 'error double_blind_acknowledgements')
  leak('supported by a grant', 'warning double_blind_funding')
  leak('as in our earlier work [3]', 'error double_blind_self_citation')
  leak('we have previously shown it', 'error double_blind_self_citation')
  t.ok(
    codes({ ...COMPLETE, citations_json: '[{"id":1,"author":[{"family":"EXAMPLE"}]}]' }, blind).includes(
      'warning double_blind_own_citation'
    )
  )
  t.ok(codes({ ...COMPLETE, title: 'Gates by Ann Example' }, blind).includes('error double_blind_author_name'))
  const many = metadata({ creators: Array.from({ length: 500 }, (_, at) => ({ name: `Name${at}, Given` })) })
  t.ok(codes({ ...many, body_markdown: 'x '.repeat(100_000) }, blind).includes('error double_blind_unchecked'))
  // A search for such a name would take minutes.
  for (const long of [{ name: `b${'a'.repeat(100_000)}, A` }, { name: 'Ab, A', affiliation: 'b'.repeat(241) }])
    t.ok(
      codes({ ...metadata({ creators: [long] }), body_markdown: 'a'.repeat(1_000_000) }, blind).includes(
        'error double_blind_unchecked'
      )
    )
})

t.test('a finding names the line of the first place and the number of others', async t => {
  const { findings } = preflight(content({ body_markdown: 'a\n\nx@y.org\n\nz@y.org b@y.org' }), 'double_blind')
  t.match(findings, [{ code: 'double_blind_email', message: 'The text names an e-mail address (line 3 and 2 more).' }])
})

t.test('arxiv_assist finds what does not belong into a bundle', async t => {
  const arxiv = 'arxiv_assist'
  finds(t, arxiv, 'error abstract_required', { abstract_text: ' ' })
  finds(t, arxiv, 'error arxiv_abstract_long', { abstract_text: 'x'.repeat(1_921) })
  finds(t, arxiv, 'warning arxiv_license_unsupported', metadata({ license: 'MIT' }))
  finds(t, arxiv, 'error arxiv_category_invalid', metadata({ arxiv: { primary_category: 'computer science' } }))
  finds(t, arxiv, 'error arxiv_comments_long', metadata({ arxiv: { comments: 'x'.repeat(401) } }))
  t.notOk(
    codes(metadata({ arxiv: { primary_category: 'cs.LG', categories: ['math.CO', 'hep-th'] } }), arxiv).some(each =>
      /category/.test(each)
    )
  )
  const image = (target: string, finding: string) =>
    finds(t, arxiv, finding, { body_markdown: `Text ![a](${target} "title") and ![b](figures/b.png)` })
  image('https://example.org/a.png', 'error arxiv_image_remote')
  image('../a.png', 'error arxiv_path_outside')
  image('/a.png', 'error arxiv_path_outside')
  image('figures/.a.png', 'error arxiv_path_outside')
  image('a.svg', 'error arxiv_image_format')
  image('größe.png', 'error arxiv_file_name')
  const cited = (text: string) => codes({ body_markdown: text, citations_json: '[{"id":"a:1"},{"id":"b"}]' }, arxiv)
  t.notOk(cited('As [@a:1; @b] and [-@b] show.').includes('error arxiv_citation_unknown'))
  t.ok(cited('As [@b; @c] show.').includes('error arxiv_citation_unknown'))
})

t.test('news_inbound finds what must not reach readers', async t => {
  const news = 'news_inbound'
  const item = { content_type: 'news_item' }
  t.strictSame(codes(item, news), [])
  t.ok(codes({}, news).includes('error news_type_invalid'))
  const body = (text: string, code: string) => t.ok(codes({ ...item, body_markdown: text }, news).includes(code), text)
  body('<SCRIPT src=x>', 'error news_active_html')
  body('<img src="x" onerror="y">', 'error news_active_html')
  body('[a](javascript:alert(1))', 'error news_active_html')
  body('TODO: write', 'error news_placeholder')
  body('Hello {{name}}', 'error news_placeholder')
  body('![](a.png)', 'warning news_image_alt_missing')
  body('http://example.org', 'info news_link_insecure')
})

t.test('findings lower the readiness', async t => {
  t.equal(readiness([]), 100)
  t.equal(readiness([{ severity: 'error' }, { severity: 'warning' }, { severity: 'info' }]), 69)
  t.equal(readiness(Array.from({ length: 9 }, () => ({ severity: 'error' as const }))), 0)
})

t.test('arbitrary texts are checked without an exception', async t => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .array(fc.constantFrom('](', '![', ')', '@', '[@', '<a ', '\n', '#', 'our ', '{{', 'a.b@c.d', '-', '('), {
        maxLength: 60
      })
      .map(parts => parts.join(''))
  )
  const optional = fc.option(text, { nil: null })
  fc.assert(
    fc.property(
      fc.record({
        title: text,
        author: text,
        abstract_text: optional,
        body_markdown: text,
        citations_json: optional,
        metadata_json: optional
      }),
      fc.constantFrom(...PREFLIGHT_PROFILES),
      (changes, profile) => {
        const { ok, readiness_score, findings } = preflight(content(changes), profile)
        return (
          readiness_score >= 0 &&
          readiness_score <= 100 &&
          ok === findings.every(({ severity }) => severity !== 'error') &&
          findings.every(({ code, message }) => /^[a-z_]+$/.test(code) && message !== '')
        )
      }
    ),
    { numRuns: 300 }
  )
  t.pass()
})

t.test('texts that are made to be slow are checked in one pass', async t => {
  for (const part of [
    '](',
    '![](',
    '![',
    'a@a.',
    '@a',
    '<a ',
    '# ',
    ' ',
    'our ',
    '{{',
    '[@',
    'https://',
    'x on',
    'Example '
  ])
    for (const profile of PREFLIGHT_PROFILES)
      t.ok(
        preflight(content({ ...COMPLETE, body_markdown: `${part.repeat(1_000_000 / part.length)})` }), profile),
        `${profile} ${part}`
      )
})
