/*
 * svg.c: see svg.h.
 */
#include "svg.h"

#include <math.h>
#include <stdlib.h>

#include "kit/args.h"
#include "kit/files.h"
#include "kit/json.h"

bool cli_svg_begin(cli_svg *svg, double width, double height)
{
    *svg = (cli_svg){0};
    svg->out = open_memstream(&svg->text, &svg->size);
    if (!svg->out) {
        return false;
    }
    (void)fprintf(
        svg->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"white\"/>\n",
        width, height, width, height);
    return true;
}

int cli_svg_finish(cli_svg *svg, const char *command, const char *path)
{
    char error[CLI_ERROR] = "";
    (void)fputs("</svg>\n", svg->out);
    const bool whole = fclose(svg->out) == 0;
    const bool written = whole && cli_file_write(path, svg->text, svg->size, error);
    free(svg->text);
    *svg = (cli_svg){0};
    return written ? CLI_EXIT_OK : cli_failure(command, "%s", whole ? error : "no memory for the picture");
}

/* What XML does not allow, even escaped, becomes a space or a question mark. */
void cli_svg_escaped(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const uint32_t length = cli_utf8_length(at);
        const bool no_character =
            length == 0 || (length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe);
        if (*at == '<' || *at == '>' || *at == '&' || *at == '"') {
            (void)fputs(*at == '<' ? "&lt;" : *at == '>' ? "&gt;" : *at == '&' ? "&amp;" : "&quot;", out);
        } else if (no_character) {
            (void)fputc('?', out);
        } else if (*at < 0x20) {
            (void)fputc(' ', out);
        } else {
            (void)fwrite(at, 1, length, out);
        }
        at += length > 0 ? length : 1;
    }
}

void cli_svg_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    cli_svg_escaped(out, text);
    (void)fputs("</text>\n", out);
}

double cli_svg_step(double least)
{
    if (!(least > 0.0) || !isfinite(least)) {
        return 1.0;
    }
    const double power = pow(10.0, floor(log10(least)));
    const double factor = least / power;
    return power * (factor <= 1.0 ? 1.0 : factor <= 2.0 ? 2.0 : factor <= 5.0 ? 5.0 : 10.0);
}
