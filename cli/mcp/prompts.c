/* Prompts: what a person can ask for by name in a client. */
#include <string.h>

#include "cli/mcp/mcp.h"

typedef struct prompt {
    const char *name, *title, *help;
    const char *argument, *argument_help; /* the only one, required */
    const char *before, *after;           /* of the message, around the argument */
} prompt;

static const prompt prompts[] = {
    { "last_night", "What happened last night?",
      "Sums up the newest nightly session of a project and its open alerts", "project",
      "The project's name", "Call last_night for the perfci project ",
      ". Say in five lines: what was measured and for how long, which commits are slower or faster "
      "and by how much with the interval, which results are undecided or broken, and which open "
      "alert to look at first and why. Name alerts and sessions by their numbers." },
    { "investigate_alert", "Why is it slower?",
      "Collects what is known about one alert and what to do next", "alert",
      "The number of the alert", "Investigate the perfci alert ",
      ". Call alert for its evidence and its suspects, explain_alert for the cause inside the "
      "program, and commit for the most probable suspect. Say: "
      "how large the change is with its interval, how certain it is, which commit is the most "
      "probable cause with the reasons for and against it, and which measurement would decide what "
      "is still open. Do not claim more than the probabilities state." },
    { "judge_commit", "Is this commit slower?",
      "Compares the stored results of a commit with those of its predecessor", "commit",
      "The full id of the commit", "Judge the performance of the commit ",
      ". Find its first parent with commit, then call compare with the parent as a and the commit "
      "as b. List the rows that are a regression, an improvement or undecided, with the interval "
      "of each, and say what was not measured." },
};

json_t *mcp_prompts_list(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(prompts); i++) {
        const prompt *p = &prompts[i];

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:[{s:s, s:s, s:b}]}", "name",
                                              p->name, "title", p->title, "description", p->help,
                                              "arguments", "name", p->argument, "description",
                                              p->argument_help, "required", 1));
    }
    return json_pack("{s:o}", "prompts", list);
}

json_t *mcp_prompts_get(const json_t *params, mcp_fault *fault)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const prompt *p = NULL;
    const char *value;
    char text[1280];

    for (size_t i = 0; name && i < PFC_ARRAY_LEN(prompts); i++)
        if (strcmp(prompts[i].name, name) == 0)
            p = &prompts[i];
    if (!p)
        return mcp_refuse(fault, MCP_INVALID_PARAMS, "name: expected the name of a prompt");
    value = json_string_value(json_object_get(json_object_get(params, "arguments"), p->argument));
    if (!value || !*value || strlen(value) > 100)
        return mcp_refuse(fault, MCP_INVALID_PARAMS, "arguments.%s: expected text of 1..100 bytes",
                          p->argument);
    (void)snprintf(text, sizeof(text), "%s\"%s\"%s", p->before, value, p->after);
    mcp_plain(text);
    return json_pack("{s:s, s:[{s:s, s:{s:s, s:s}}]}", "description", p->help, "messages", "role",
                     "user", "content", "type", "text", "text", text);
}
