import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  armed: t.boolean({
    default: false,
    'x-env': 'SVC_NEWS_PUBLISH_ARMED',
    'x-env-type': 'truthy',
    description: 'Whether approved publications may leave this machine.',
    'x-guards': true,
    'x-reload': 'live'
  }),
  dry_run: t.boolean({
    default: true,
    description: 'Whether nothing is sent anywhere, whatever a call or an item requests.',
    'x-guards': true,
    'x-reload': 'live'
  }),
  approvers: t.array(t.string({ minLength: 1, maxLength: 100 }), {
    default: [],
    maxItems: 200,
    description: 'Names of people who may approve. Default: anyone.',
    'x-guards': true,
    'x-reload': 'live'
  }),
  approver_tokens: t.record(t.secret({ minLength: 16, maxLength: 4_096 }), {
    default: {},
    description: 'Tokens by approver. An approver with a token must send it, so that others cannot use that name.',
    'x-guards': true,
    'x-reload': 'live'
  }),
  approver_token: t.optional(
    t.secret({
      minLength: 1,
      maxLength: 4_096,
      'x-env': 'SVC_PUBLICATION_APPROVER_TOKEN',
      description: 'Token of the person who runs svc publication approve. Callers of a server send their own.',
      'x-reload': 'live'
    })
  ),
  allow_tool_approvals: t.boolean({
    default: false,
    description: 'Whether tools of models may approve, too. One of the two approvers is always a person.',
    'x-guards': true,
    'x-reload': 'live'
  })
})

export type Settings = Infer<typeof settings>
