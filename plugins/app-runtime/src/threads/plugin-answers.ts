import type { SkillsGateway, SpeechRecogniser } from '@svc/contracts'
import type { BridgeAnswers, BridgeCall } from './bridge.ts'
import type { Provided } from './provided.ts'

/** Functions of other plugins that need only one request per call. */
export interface AnsweringPlugins {
  readonly speech: Provided<SpeechRecogniser>
  readonly skills: Provided<SkillsGateway>
  /** Effect of a tool: `read_only`, `write`, `destructive`, or `unknown`. */
  readonly mutationKind: (tool: string) => string
}

/** Returns the request handlers. Each returns a string; those of the skills gateway return JSON. */
export function pluginAnswers({ speech, skills, mutationKind }: AnsweringPlugins): BridgeAnswers {
  return {
    'speech.transcribe': async (path: string, { signal }: BridgeCall) => {
      const { refined } = await (await speech()).transcribe({ kind: 'file', path }, { signal })
      return refined
    },
    'skills.list': async (_: null, { signal }: BridgeCall) => JSON.stringify(await (await skills()).skills(signal)),
    'skills.call': async ({ skill, command }: { skill: string; command: string }, { signal }: BridgeCall) =>
      JSON.stringify(await (await skills()).execute({ skill, command }, signal)),
    'skills.subscribe': async (domain: string, { signal }: BridgeCall) =>
      JSON.stringify(await (await skills()).subscribe(domain, signal)),
    'skills.unsubscribe': async (domain: string, { signal }: BridgeCall) =>
      JSON.stringify(await (await skills()).unsubscribe(domain, signal)),
    'skills.notify': async ({ domain, message }: { domain: string; message: string }, { signal }: BridgeCall) =>
      JSON.stringify(await (await skills()).notify(domain, message, signal)),
    'tools.mutation_kind': mutationKind
  }
}
