import { errorTable } from '@svc/plugin-sdk'

/** Error codes of clients of a skills gateway. */
export const skillsGatewayErrors = errorTable({
  SKG_ANSWER_INVALID: { message: 'The skills gateway returned an invalid response.', status: 502 },
  SKG_PROTOCOL: { message: 'The skills gateway does not speak the protocol of this plugin.', status: 501 },
  SKG_REFUSED: { message: 'The skills gateway refused a request.', status: 502 },
  SKG_SKILL_INVALID: { message: 'The name or the input of a skill cannot be sent.', status: 400 },
  SKG_SKILL_UNKNOWN: { message: 'The skills gateway has no skill of that name.', status: 404 },
  SKG_TIMEOUT: { message: 'The skills gateway did not respond in time.', status: 504 },
  SKG_UNAUTHORIZED: { message: 'The skills gateway does not accept the token, or requires one.', status: 502 },
  SKG_UNREACHABLE: { message: 'No skills gateway responds.', status: 503 }
})
