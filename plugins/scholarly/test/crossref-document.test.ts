import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type DepositParty, depositDocument, depositOf } from '#crossref'
import { workOf } from '#root'
import { FIXTURES, openSchema } from './crossref-schema.ts'
import { CITATIONS, FULL_METADATA, type Sample, sampleWork } from './sample-works.ts'

const PARTY: DepositParty = {
  doiPrefix: '10.5555',
  depositorName: 'Example & Sons Press',
  depositorEmail: 'doi@example.org',
  registrant: 'Example Institute',
  databaseTitle: 'Data of the Example Institute',
  resourceBase: 'https://example.org/publications'
}
const TIMESTAMP = '20260402083000123'

const SAMPLES: Readonly<Record<string, Sample>> = {
  article: { metadata: FULL_METADATA, citations: CITATIONS },
  dataset: { content_type: 'dataset', metadata: FULL_METADATA, citations: CITATIONS },
  report: { content_type: 'report', metadata: FULL_METADATA, citations: CITATIONS },
  minimal: { content_type: 'news_item', publication_id: 'a:b', author: '', abstract_text: null }
}

function document(sample: Sample): string {
  const manifest = sampleWork(sample)
  return depositDocument(manifest, workOf(manifest), PARTY, TIMESTAMP)
}

t.test(
  'documents of each kind of content are the committed ones, and are valid against the schema of Crossref',
  async t => {
    const errors = await openSchema()
    for (const [name, sample] of Object.entries(SAMPLES)) {
      const xml = document(sample)
      const file = join(FIXTURES, `${name}.xml`)
      if (process.env.SVC_TEST_UPDATE === '1') await writeFile(file, xml)
      t.equal(xml, await readFile(file, 'utf8'), `${name}.xml`)
      t.same(errors(xml), [], `${name}.xml is valid`)
    }
    t.match(
      errors(
        document(SAMPLES.minimal ?? {})
          .replace('<title>', '<titel>')
          .replace('</title>', '</titel>')
      ),
      [/titel/]
    )

    const text = fc.string({ unit: 'binary', maxLength: 80 })
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 90 }).filter(each => each.trim() !== '')
    const citation = fc.record(
      {
        id: fc.oneof(text, fc.nat()),
        type: fc.constantFrom('article-journal', 'book', 'chapter', 'webpage', 'thesis', 'odd'),
        title: text,
        author: fc.array(fc.record({ family: text, literal: text }, { requiredKeys: [] }), { maxLength: 2 }),
        issued: fc.record({ 'date-parts': fc.array(fc.array(fc.oneof(fc.nat(3_000), text))) }),
        'container-title': text,
        publisher: text,
        volume: fc.oneof(text, fc.nat()),
        issue: text,
        page: text,
        DOI: fc.oneof(text, fc.constant('10.1000/182')),
        ISBN: fc.oneof(text, fc.constant('978-3-16-148410-0'), fc.constant('0201896834')),
        ISSN: fc.oneof(text, fc.constant('2049-3630')),
        URL: text
      },
      { requiredKeys: [] }
    )
    const sample = fc.record({
      content_type: fc.constantFrom('article', 'dataset', 'report', 'software', 'news_item', 'other'),
      title: name.map(each => `T${each}`),
      abstract_text: fc.option(fc.string({ unit: 'binary', maxLength: 300 })),
      author: text,
      metadata: fc.record(
        {
          license: fc.oneof(text, fc.constantFrom('CC0-1.0', 'CC-BY-NC-ND-4.0', 'MIT')),
          language: fc.oneof(text, fc.constantFrom('de', 'en-US', 'xx')),
          version: text,
          url: fc.constantFrom('https://example.org/ä ö?x=<1>&y', 'http://example.org'),
          creators: fc.array(fc.record({ name, affiliation: text }), { maxLength: 3 })
        },
        { requiredKeys: [] }
      ),
      citations: fc.array(citation, { maxLength: 3 })
    })
    fc.assert(
      fc.property(sample, given => {
        const xml = document(given)
        const found = errors(xml)
        if (found.length > 0) throw new Error(`${found.join('\n')}\n${xml}`)
      }),
      { numRuns: Number(process.env.SVC_TEST_RUNS ?? 100) }
    )
  }
)

t.test('the DOI comes from the metadata or the id, and belongs to the prefix', t => {
  const doi = (sample: Sample): string => {
    const manifest = sampleWork(sample)
    return depositOf(manifest, workOf(manifest), PARTY).doi
  }
  t.equal(doi({ publication_id: 'news:2026:1' }), '10.5555/news/2026/1')
  t.equal(doi({ metadata: { doi: 'https://doi.org/10.5555/own.1' } }), '10.5555/own.1')
  t.throws(() => doi({ metadata: { doi: '10.1234/other' } }), { failureClass: 'preflight', message: /10\.5555/ })
  t.throws(() => doi({ metadata: { doi: '10.5555/a<b' } }), { code: 'content_invalid' })
  t.end()
})

t.test('content that cannot be deposited is refused with its field', t => {
  const refused = (sample: Sample, party: DepositParty = PARTY) => {
    const manifest = sampleWork(sample)
    return () => depositDocument(manifest, workOf(manifest), party, TIMESTAMP)
  }
  t.throws(refused({ title: ' \n ' }), { message: /title/ })
  t.throws(refused({ metadata: { url: 'ftp://example.org' } }), { message: /url/ })
  t.throws(refused({}, { ...PARTY, resourceBase: null }), { message: /SVC_CROSSREF_RESOURCE_BASE/ })
  t.throws(refused({ metadata: { creators: [{ name: 'A', orcid: '0000-0002-1825-0098' }] } }), { message: /ORCID/ })
  t.throws(refused({ metadata: { publication_date: '1066-10-14' } }), { message: /1066/ })
  t.end()
})
