import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { SpeechRecogniser, SpeechSource, Transcript } from '../speech/recogniser.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface SpeechRecogniserSubject {
  /** Recogniser whose status is `ready`. */
  readonly recogniser: SpeechRecogniser
  /** Path of a recording with speech in its workspace. */
  readonly recording: string
  /** A text file in its workspace, and the file's content. */
  readonly text: { readonly path: string; readonly content: string }
}

/** Conformance cases for every ready `speech.recogniser@1`. */
export function speechRecogniserSuite({ recogniser, recording, text }: SpeechRecogniserSubject): ConformanceSuite {
  const file = (path: string): SpeechSource => ({ kind: 'file', path })
  const refusal = async (source: SpeechSource, code: string): Promise<void> => {
    const error = await recogniser.transcribe(source).then(
      () => assert.fail('the file was transcribed'),
      (caught: unknown) => caught
    )
    holds(isSvcError(error, code), `the call throws ${code}, not ${String(error)}`)
  }
  const sound = (transcript: Transcript): void => {
    holds(transcript.confidence >= 0 && transcript.confidence <= 1, 'confidence is from 0 to 1')
    holds(!transcript.alternatives.includes(transcript.refined), 'no alternative equals the refined text')
  }
  return [
    {
      name: 'reports its model before the first transcription',
      async run() {
        const state = await recogniser.state()
        assert.equal(state.status, 'ready')
        assert.deepEqual(state.missing, [])
        holds(state.folder !== null && state.model !== '' && state.detail !== '', 'the state names model and folder')
      }
    },
    {
      name: 'returns the same transcript of a recording each time, also in two concurrent calls',
      async run() {
        const [first, second] = await Promise.all([1, 2].map(() => recogniser.transcribe(file(recording))))
        if (first === undefined || second === undefined) throw new Error('expected two transcripts')
        assert.deepEqual(first, second)
        holds(first.raw !== '' && (first.durationMs ?? 0) > 0, 'the transcript has text and a duration')
        sound(first)
      }
    },
    {
      name: 'returns a text file as its own transcript',
      async run() {
        const transcript = await recogniser.transcribe(file(text.path))
        assert.equal(transcript.raw, text.content)
        assert.equal(transcript.refined, text.content)
        assert.deepEqual([transcript.language, transcript.durationMs, transcript.corrections], [null, null, []])
        sound(transcript)
      }
    },
    {
      name: 'returns no text for silence and for an empty file, and ignores an unknown language',
      async run() {
        for (const length of [0, 16_000]) {
          const source = { kind: 'samples', samples: new Float32Array(length) } as const
          const transcript = await recogniser.transcribe(source, { language: 'no such language!' })
          assert.equal(transcript.refined, '')
          sound(transcript)
        }
      }
    },
    {
      name: 'rejects a file that does not exist',
      run: () => refusal(file('no/such/recording.wav'), 'SPC_FILE_NOT_FOUND')
    },
    { name: 'rejects a file outside the workspace', run: () => refusal(file('../recording.wav'), 'SPC_PATH_OUTSIDE') },
    {
      name: 'throws the reason of an aborted signal',
      async run() {
        const reason = new Error('enough')
        const given = recogniser.transcribe(file(recording), { signal: AbortSignal.abort(reason) })
        assert.equal(await given.catch((error: unknown) => error), reason)
      }
    }
  ]
}
