import { readFileSync } from 'node:fs'
import { type ManifestContent, manifestDigest, type PreflightFinding } from '@svc/contracts'
import t from 'tap'
import { readiness, worthiness } from '#root'
import { content, open } from './kit.ts'

interface Vectors {
  readonly digests: readonly { content: ManifestContent; sha3_256: string }[]
  readonly worthiness: readonly {
    evidence: object | null
    score: number | null
    decision: string
    failed_minima: string[]
    red_lines: string[]
  }[]
  readonly readiness: readonly { errors: number; warnings: number; infos: number; score: number }[]
}

/** Written by tools/publishing-vectors.py. */
const vectors: Vectors = JSON.parse(readFileSync(new URL('./fixtures/vectors.json', import.meta.url), 'utf8'))

t.test('digests agree with those of an independent program', async t => {
  t.ok(vectors.digests.length > 100)
  t.strictSame(
    vectors.digests.map(each => manifestDigest(each.content)),
    vectors.digests.map(each => each.sha3_256)
  )
  const { abstract_text, source_ref, citations_json, metadata_json, ...required } = content()
  const absent = { abstract_text: null, source_ref: null, citations_json: null, metadata_json: null }
  t.equal(manifestDigest(required as ManifestContent), manifestDigest({ ...required, ...absent }), 'absent is null')
})

t.test('worthiness agrees with an independent program', async t => {
  t.ok(vectors.worthiness.length > 400)
  for (const { evidence, score, ...expected } of vectors.worthiness) {
    const metadata_json = evidence === null ? null : JSON.stringify({ worthiness: evidence })
    const { reasons, score: actual, ...rest } = worthiness({ metadata_json })
    t.strictSame(rest, expected, JSON.stringify(evidence))
    t.ok(actual === score || Math.abs(Number(actual) - Number(score)) < 1e-6, `${actual} and ${score}`)
    t.ok(expected.decision === 'Publish' || reasons.length > 0, 'a decision against publishing has a reason')
  }
})

t.test('readiness agrees with an independent program', async t => {
  const of = (count: number, severity: PreflightFinding['severity']) =>
    Array.from({ length: count }, () => ({ severity }))
  for (const { errors, warnings, infos, score } of vectors.readiness)
    t.equal(readiness([...of(errors, 'error'), ...of(warnings, 'warning'), ...of(infos, 'info')]), score)
})

t.test('evidence that cannot be read never leads to Publish', async t => {
  const good = vectors.worthiness.find(({ decision }) => decision === 'Publish')?.evidence as Record<string, unknown>
  const decide = (changes: object) =>
    worthiness({ metadata_json: JSON.stringify({ worthiness: { ...good, ...changes } }) })
  t.equal(decide({}).decision, 'Publish')
  t.equal(decide({ epistemic: '1', reproducibility: '1' }).decision, 'AbstainDoNotPublish')
  t.not(decide({ meaningful_advance: 'yes' }).decision, 'Publish')
  t.not(decide({ ai_disclosure: '1' }).decision, 'Publish')
  t.match(decide({ red_lines: 'plagiarism' }), { decision: 'AbstainDoNotPublish', red_lines: ['unreadable'] })
  t.match(decide({ red_lines: ['another line'] }), { decision: 'AbstainDoNotPublish', red_lines: ['another line'] })
  for (const metadata_json of ['{', '[]', '{"worthiness":1}', '{"worthiness":[1]}'])
    t.match(worthiness({ metadata_json }), { score: null, decision: 'AskForEvidence' })
})

t.test('a stored publication has the digest of its content', async t => {
  const { records } = await open(t)
  const { content: odd, sha3_256 } = vectors.digests.at(-1) ?? { content: content(), sha3_256: '' }
  const stored = await records.prepare({ ...odd, publication_id: 'p', content_type: 'article' })
  t.equal(stored.content_sha3_256, manifestDigest({ ...odd, publication_id: 'p', content_type: 'article' }))
  t.equal(manifestDigest(odd), sha3_256)
  t.equal(manifestDigest(await records.get('p')), stored.content_sha3_256)
})
