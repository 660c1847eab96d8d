import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorOf, runSvc } from './run-svc.ts'
import { makeProject, serve } from './served-project.ts'

const FIXTURES = join(import.meta.dirname, '../../plugins/speech/test/fixtures')
const MODEL = join(FIXTURES, 'model')
const { cases } = JSON.parse(readFileSync(join(FIXTURES, 'expected.json'), 'utf8')) as { cases: { text: string }[] }
const words = (cases[0]?.text ?? '').trim()

t.test('svc speech transcribe prints the text of a recording, and the process ends', async t => {
  const folder = makeProject(t, { 'note.txt': 'written, not spoken' })
  copyFileSync(join(FIXTURES, 'tones.wav'), join(folder, 'tones.wav'))
  const env = { SVC_ORATIO_MODEL: MODEL, SVC_ORATIO_LANGUAGE: 'en' }
  const spoken = await runSvc(folder, ['speech', 'transcribe', 'tones.wav', '--json'], { env })
  t.equal(spoken.code, 0, spoken.stderr)
  const transcript = JSON.parse(spoken.stdout)
  t.match(transcript, { confidence: 0.87, language: 'en', duration_ms: 1900, clarification_recommended: false })
  t.ok(transcript.text.startsWith(words))
  t.match(await runSvc(folder, ['speech', 'transcribe', 'note.txt']), { code: 0, stdout: 'written, not spoken\n' })

  t.match(await runSvc(folder, ['speech', 'status']), { code: 0, stdout: /no_model.*whisper-tiny\.en/ })
  const refused = await runSvc(folder, ['speech', 'transcribe', 'tones.wav', '--json'])
  t.not(refused.code, 0)
  t.match(errorOf(refused), { code: 'SPC_NO_MODEL', hint: /svc speech download/ })
})

t.test('a served project transcribes uploads and files of its workspace', async t => {
  const folder = makeProject(t, { 'recordings/a.md': 'in the workspace', 'b.md': 'next to it' })
  const set = { workspace: 'recordings', model: MODEL, language: 'en' }
  const settings = Object.entries(set).flatMap(([name, value]) => ['--set', `plugins.speech.${name}=${value}`])
  const served = await serve(t, folder, ['--only', 'http,speech', ...settings])
  const form = new FormData()
  form.append('audio', new Blob([readFileSync(join(FIXTURES, 'tones.wav'))]), 'tones.wav')
  const uploaded = await fetch(`${served.url}/api/audio/transcribe/upload`, { method: 'POST', body: form })
  const { text } = (await uploaded.json()) as { text: string }
  t.ok(text.startsWith(words), text)
  t.same(readdirSync(join(folder, 'recordings/.vox/tmp/audio_ingress')), [])
  const ask = async (path: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ path })
    return (await fetch(`${served.url}/api/audio/transcribe`, { method: 'POST', headers, body })).json()
  }
  t.match(await ask('a.md'), { text: 'in the workspace' })
  t.same(await ask('../b.md'), { error: 'path_outside_workspace', path: '../b.md' })
  t.equal(await served.stop(), 0)
})
