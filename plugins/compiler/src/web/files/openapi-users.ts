import type { HirModule, HirType, ProgramUsers, TypeSchemas } from '@svc/contracts'

/** Returns the operations with which users sign up, in and out, by path. */
export function userPaths(
  { table, identity, hasPassword, signUpColumns }: ProgramUsers,
  hir: HirModule,
  schemas: TypeSchemas,
  errorSchema: string
): Record<string, Record<string, object>> {
  const user = schemas.of({ Named: table })
  const columns = hir.tables.find(({ name }) => name === table)?.fields ?? []
  const typeOf = (name: string): HirType | null => columns.find(each => each.name === name)?.type_ann ?? null
  const password = { type: 'string', minLength: 8, maxLength: 1000 }
  const session = { type: 'string', enum: ['cookie', 'token'], default: 'cookie' }
  const object = (properties: Readonly<Record<string, object>>, required: readonly string[]) => ({
    type: 'object',
    properties,
    required,
    additionalProperties: false
  })
  const signedIn = object({ user, token: { type: 'string', description: 'With "session": "token".' } }, ['user'])
  const own = Object.fromEntries(signUpColumns.map(name => [name, schemas.of(typeOf(name))]))
  const error = (status: string, description: string) => [
    status,
    { description, content: { 'application/json': { schema: { $ref: errorSchema } } } }
  ]
  const operation = (
    id: string,
    summary: string,
    result: object,
    body: object | null,
    errors: readonly string[],
    parameters: readonly object[] = []
  ) => ({
    operationId: `auth_${id}`,
    tags: ['auth'],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      '200': { description: 'The result.', content: { 'application/json': { schema: result } } },
      ...Object.fromEntries(errors.map(status => error(status, DESCRIPTIONS[status] as string)))
    }
  })
  const nothing = { type: 'null' }
  const signUp = object({ ...own, password, session }, [...signUpColumns, 'password'])
  const signIn = object({ [identity]: { type: 'string' }, password: { type: 'string' }, session }, [
    identity,
    'password'
  ])
  const change = object({ current: { type: 'string' }, password }, ['current', 'password'])
  const withPassword: Record<string, Record<string, object>> = {
    '/api/auth/sign_up': {
      post: operation('sign_up', 'Creates a user', signedIn, signUp, ['400', '403', '409', '422', '429'])
    },
    '/api/auth/sign_in': {
      post: operation('sign_in', 'Begins a session', signedIn, signIn, ['400', '401', '403', '429'])
    },
    '/api/auth/password': {
      post: operation('password', 'Changes the password', object({ token: { type: 'string' } }, []), change, [
        '400',
        '401',
        '403',
        '429'
      ])
    }
  }
  return {
    ...(hasPassword ? withPassword : {}),
    '/api/auth/sign_out': { post: operation('sign_out', 'Ends the session', nothing, null, []) },
    '/api/auth/me': {
      get: operation('me', 'The user who is signed in, or null', { anyOf: [user, nothing] }, null, [])
    },
    '/api/auth/sessions': {
      get: operation('sessions', 'The sessions of the user', { type: 'array', items: SESSION }, null, ['401'])
    },
    '/api/auth/end_session': {
      post: operation(
        'end_session',
        'Ends a session of the user, and returns whether it existed',
        { type: 'boolean' },
        object({ id: { type: 'string' } }, ['id']),
        ['400', '401']
      )
    },
    '/api/auth/identities': {
      get: operation('identities', 'The ways in which the user can sign in', { type: 'array', items: IDENTITY }, null, [
        '401'
      ])
    },
    '/api/auth/oauth/{provider}/link': {
      post: operation(
        'link',
        'Begins to link an identity at an OpenID provider, and returns the address to open',
        object({ url: { type: 'string' } }, ['url']),
        null,
        ['401', '403', '404', '429'],
        [PROVIDER, NEXT]
      )
    },
    '/api/auth/oauth/{provider}/unlink': {
      post: operation(
        'unlink',
        'Removes the identity at an OpenID provider, and ends the other sessions',
        nothing,
        null,
        ['401', '403', '404', '409'],
        [PROVIDER]
      )
    }
  }
}

const TIME = { type: 'integer', description: 'Milliseconds since 1970.' }

const SESSION = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    agent: { type: ['string', 'null'], description: 'Header user-agent of the sign-in.' },
    created_at_ms: TIME,
    expires_at_ms: TIME,
    is_current: { type: 'boolean' }
  },
  required: ['id', 'agent', 'created_at_ms', 'expires_at_ms', 'is_current'],
  additionalProperties: false
}

const IDENTITY = {
  type: 'object',
  properties: {
    provider: { type: 'string', description: 'password, or the name of an OpenID provider.' },
    created_at_ms: TIME
  },
  required: ['provider', 'created_at_ms'],
  additionalProperties: false
}

const PROVIDER = {
  name: 'provider',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: 'Name of an OpenID provider in the settings.'
}

const NEXT = {
  name: 'next',
  in: 'query',
  schema: { type: 'string', default: '/' },
  description: 'Path of the page to open at the end.'
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '400': 'An argument is missing, unknown or of the wrong type.',
  '401': 'The password is wrong, or no user is signed in.',
  '403': 'The request comes from a page of another origin, the current password is wrong, or the sign-in is too old.',
  '404': 'There is no such OpenID provider, or the user has no identity there.',
  '409': 'There is a user with this name or address, or the identity is the last one.',
  '422': 'The program refuses the user.',
  '429': 'There were too many attempts.'
}
