import { readlinkSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import { JinjaTemplate } from './jinja.ts'
import { REQUEST_TEMPLATE_LIMITS } from './template-budget.ts'
import type { TemplateJob, TemplateReady, TemplateReply } from './template-thread.ts'

if (parentPort === null) throw new Error('this program must run in a thread')
const port = parentPort

/** Template that uses the common parts of the interpreter, so that V8 has loaded and compiled them. */
const WARM_UP =
  "{% macro turn(m) %}{{ m.role ~ ': ' + m.content|trim }}{% endmacro %}{% set ns = namespace(a=1) %}" +
  "{% for m in messages %}{% if m.role == 'user' and m.content is string %}{{ turn(m) }}{% else %}" +
  "{{ m.content.split('x')[-1].replace('a', 'b')|indent(2) }}{% endif %}{% set ns.a = loop.index %}{% endfor %}" +
  "{{ messages|tojson }}{{ ['a']|join(',') }}{{ messages[1:]|length }}"
const WARM_UP_ROUNDS = 20
/** A failure may quote the template's own message. */
const MAX_FAILURE_LENGTH = 500

// Templates cause errors, such as unknown names, thousands of times; V8 would record a stack for each.
Error.stackTraceLimit = 0
warmUp()
port.on('message', (job: TemplateJob) => port.postMessage(answer(job)))
port.postMessage({ task: taskOfThread() } satisfies TemplateReady)

function answer({ source, variables, now }: TemplateJob): TemplateReply {
  try {
    return { text: new JinjaTemplate(source, REQUEST_TEMPLATE_LIMITS).render(variables, new Date(now)) }
  } catch (error) {
    return { failure: errorMessage(error).slice(0, MAX_FAILURE_LENGTH) }
  }
}

function warmUp(): void {
  const messages = ['user', 'assistant'].map(role => ({ role, content: 'x a\nb' }))
  for (let round = 0; round < WARM_UP_ROUNDS; round++) answer({ source: WARM_UP, variables: { messages }, now: 0 })
}

/** Returns the folder of this thread below `/proc`: a link there names it for the thread that reads it. */
function taskOfThread(): string | null {
  try {
    return readlinkSync('/proc/thread-self')
  } catch {
    return null
  }
}
