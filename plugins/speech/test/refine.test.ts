import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { confidenceOf, EMPTY_LEXICON, LexiconFile, parseLexicon, refine } from '#refine'
import { groupsOf, languageHint, tunablesOf } from '#root'

const lexicon = parseLexicon(
  JSON.stringify({
    schema_version: 1,
    entries: [
      { canonical: 'Zürich', aliases: ['zurich', 'surik'] },
      { canonical: 'queue worker', aliases: ['cue worker', 'q worker'] },
      { canonical: 'cue', aliases: ['cue'] },
      { canonical: 'alone' }
    ]
  }),
  'lexicon.json'
)

t.test('words are corrected in order, and punctuation is kept', t => {
  const text = (raw: string, profile: 'balanced' | 'aggressive' = 'balanced') => refine(raw, lexicon, profile).text
  t.equal(text('  ask   the\nOratia,  please '), 'ask the oratio, please')
  t.equal(text("the men's (oratia)!"), 'the mens (oratio)!')
  t.equal(text('the Cue Worker in surik.'), 'the queue worker in Zürich.')
  t.equal(text('use type script, get hub and s v c'), 'use TypeScript, GitHub and svc')
  t.equal(text('cue, worker'), 'cue, worker', 'a comma separates phrases')
  t.equal(text('école', 'aggressive'), 'École')
  t.equal(text('-- dry run', 'aggressive'), '-- dry run')
  t.equal(text(''), '')
  t.same(refine('surik oratia cue', lexicon, 'conservative').corrections, [
    { from: 'oratia', to: 'oratio' },
    { from: 'surik', to: 'Zürich' }
  ])
  t.end()
})

t.test('code, paths, flags and numbers are never changed', t => {
  const code = parseLexicon(
    JSON.stringify({
      entries: [{ canonical: 'X', aliases: ['--fix', 'a/b', 'a\\b', 'a::b', 'v.1', 'b2', 'cue 2', 'end'] }]
    }),
    'lexicon.json'
  )
  const raw = 'run --fix a/b a\\b a::b v.1 b2 cue 2'
  t.same(refine(raw, code, 'balanced'), { text: raw, corrections: [] })
  t.equal(refine('the end.', code, 'balanced').text, 'the X.', 'the end of a sentence is not code')
  t.end()
})

t.test('confidence is the base of the profile minus penalties, within bounds', async t => {
  const tunables = await tunablesOf({}, null)
  t.same(
    (['conservative', 'balanced', 'aggressive'] as const).map(profile => confidenceOf(profile, 0, tunables)),
    [0.82, 0.87, 0.9]
  )
  t.equal(confidenceOf('balanced', 2, tunables), 0.84)
  t.equal(confidenceOf('balanced', 1000, tunables), 0.62, 'the penalty does not exceed the cap')
  t.equal(confidenceOf('balanced', 9, { ...tunables, refine_penalty_cap: 1, refine_penalty_per_trace: 1 }), 0.1)
  t.equal(confidenceOf('balanced', 0, { ...tunables, refine_balanced_base: 1 }), 0.99)
})

t.test('a lexicon is read again when it changes, and an invalid one is reported once', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'words.json')
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  t.equal(await new LexiconFile(path, false, warn).current(), EMPTY_LEXICON)
  t.same(warnings, [], 'a missing default file causes no warning')
  const file = new LexiconFile(path, true, warn)
  t.same((await file.current()).phrases, [])
  t.match(warnings, [/words\.json/])
  writeFileSync(path, '{"entries": [{"canonical": "vox", "aliases": ["fox"]}]}')
  t.same((await file.current()).phrases, ['vox'])
  writeFileSync(path, '{"entries": [{"canonical": 7}]}')
  t.same((await file.current()).phrases, ['vox'], 'the last valid lexicon is used')
  await file.current()
  t.match(warnings.slice(1), [/entries\[0\].*canonical/])
  t.equal(warnings.length, 2)
  const many = { entries: Array.from({ length: 300 }, (_, at) => ({ canonical: `w${at}` })) }
  t.equal(parseLexicon(JSON.stringify(many), path).phrases.length, 256)
  for (const text of ['[]', 'null', '{"entries": 7}', '{"entries": [{"canonical": "a", "aliases": [7]}]}', '{'])
    t.throws(() => parseLexicon(text, path), { code: 'SPP_LEXICON_INVALID' }, text)
})

t.test('settings override the file, and the file overrides the defaults', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'oratio.toml')
  writeFileSync(path, '[session_timing]\nmax_duration_ms = 9000\nheartbeat_ms = 70\n[llm]\nrefinement_default = true\n')
  const tunables = await tunablesOf({ heartbeat_ms: 80 }, path)
  t.match(tunables, {
    max_duration_ms: 9_000,
    heartbeat_ms: 80,
    llm_refinement_default: true,
    capture_timeout_ms: 12_000
  })
  t.match(groupsOf(tunables), { session_timing: { max_duration_ms: 9_000 }, stream: { max_buffer_ms: 300_000 } })
  for (const [text, message] of [
    ['[session_timing]\nmax = 1', /session_timing\.max is unknown/],
    ['[llm]\nrefinement_default = 1', /llm\.refinement_default is 1; it must be true or false/],
    ['[refine]\npenalty_cap = 2.0', /is 2; it must be a number from 0 to 1/],
    ['[hf]\nretry_attempts = 1.5', /is 1\.5; it must be/],
    ['llm = 7', /not a table/],
    ['[', /oratio\.toml/]
  ] as const) {
    writeFileSync(path, text)
    await t.rejects(tunablesOf({}, path), { code: 'SPP_CONFIG_INVALID', message })
  }
  await t.rejects(tunablesOf({}, join(folder, 'none.toml')), { code: 'SPP_CONFIG_INVALID' })
})

t.test('a language is a short code, and other values are ignored', t => {
  t.same(['EN', ' pt-BR ', 'x', 'e n', 'abcdefghijklmnopq', '', 7, null].map(languageHint), [
    'en',
    'pt-br',
    null,
    null,
    null,
    null,
    null,
    null
  ])
  t.end()
})
