import { type Infer, t } from '@svc/plugin-sdk'
import { MODES } from './rules/modes.ts'
import { POLLINATIONS_URL } from './teaching/pollinations.ts'

export const settings = t.object({
  emergency_off: t.boolean({
    default: false,
    'x-env': 'SVC_REWARD_EMERGENCY_OFF',
    description:
      'Switches the component off, with all of its effects: it receives no event, and reads and writes nothing.'
  }),
  session_enabled: t.optional(
    t.boolean({
      'x-env': 'SVC_REWARD_SESSION_ENABLED',
      'x-env-type': 'strict',
      description: 'Whether events are rewarded, in place of the stored configuration.'
    })
  ),
  session_mode: t.optional(
    t.enum([...MODES, 'off'], {
      'x-env': 'SVC_REWARD_SESSION_MODE',
      description: 'Mode in place of the stored one; off: no event is rewarded.'
    })
  ),
  verbosity: t.enum(['quiet', 'normal', 'rich'], {
    default: 'normal',
    'x-env': 'SVC_REWARD_VERBOSITY',
    'x-reload': 'live',
    description: 'quiet: no messages. normal: levels, achievements, quests, combos and hints. rich: every reward, too.'
  }),
  max_messages_per_hour: t.integer({
    default: 12,
    minimum: 0,
    maximum: 100_000,
    'x-env': 'SVC_REWARD_MAX_MESSAGES_PER_HOUR',
    'x-reload': 'live',
    description: 'Maximum messages per hour.'
  }),
  channel: t.optional(
    t.enum(['off', 'serious', 'balanced', 'digest-priority', 'digest', 'digest_priority'], {
      'x-env': 'SVC_REWARD_CHANNEL',
      'x-reload': 'live',
      description:
        'off: no messages. serious: levels and achievements. balanced: all. digest-priority (also digest, digest_priority): only the weekly digest. Default: from the mode.'
    })
  ),
  experiment: t.optional(
    t.string({
      maxLength: 100,
      'x-env': 'SVC_REWARD_EXPERIMENT',
      'x-reload': 'live',
      description:
        'Name of an experiment. It is added to the label of each reward, and scales the frequency of hints by 0.85 or 1.15.'
    })
  ),
  experiment_reward_mult: t.optional(
    t.string({
      maxLength: 40,
      'x-env': 'SVC_REWARD_EXPERIMENT_REWARD_MULT',
      'x-reload': 'live',
      description: 'Factor of all rewards. Anything but a finite number above 0 is ignored. Default: 1.'
    })
  ),
  mcp_tool_args: t.enum(['full', 'hash', 'omit'], {
    default: 'full',
    'x-env': 'SVC_REWARD_MCP_TOOL_ARGS',
    'x-reload': 'live',
    description: 'Arguments of tools in stored events: full: as they are; hash: their XXH3 hash; omit: null.'
  }),
  route_log_sample: t.optional(
    t.integer({
      minimum: 1,
      maximum: 1_000_000_000,
      'x-env': 'SVC_REWARD_ROUTE_LOG_SAMPLE',
      'x-reload': 'live',
      description: 'N: about one in N pairs of user and type of event is logged. Default: none.'
    })
  ),
  teaching: t.enum(['fixed', 'local', 'chain'], {
    default: 'fixed',
    'x-reload': 'live',
    description:
      'Who writes hints. fixed: no model. local: the model server on this machine. chain: the model server, Pollinations, Gemini, free models of OpenRouter, in this order. Models get only the kind of the mistake and the fixed text.'
  }),
  pollinations_url: t.string({
    default: POLLINATIONS_URL,
    pattern: '^https?://',
    'x-reload': 'live',
    description: 'Base address of Pollinations; https, except on this machine.'
  }),
  pollinations_api_key: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'POLLINATIONS_API_KEY',
      'x-reload': 'live',
      description: 'Key of Pollinations. Its own address is asked only with a key.'
    })
  ),
  retention_days: t.integer({
    default: 90,
    minimum: 0,
    maximum: 36_500,
    'x-reload': 'live',
    description: 'Days after which stored events and their rewards are deleted. 0: never.'
  }),
  user_id: t.optional(
    t.string({
      minLength: 1,
      maxLength: 200,
      'x-env': 'SVC_USER_ID',
      description: 'Id of the user whose work is rewarded. Default: the user of the operating system, else local-user.'
    })
  )
})

export type Settings = Infer<typeof settings>
